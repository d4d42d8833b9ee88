// The keys whose tags were checked: a bounded number is remembered, and each one more costs a check of its tag again.

import { expect, it } from "vitest";
import { type AppContext, authenticateCaller, isCheckedToken, MAX_CHECKED_TOKENS } from "../../src/http/auth.ts";
import { mint } from "../../src/http/key-format.ts";

const SECRET = "signing-secret-of-this-test";

const authenticate = async (token: string): Promise<string> => {
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  const context = { env: { SERVICE_SIGNING_SECRET: SECRET }, req: { header: (name: string) => headers[name] } };
  return (await authenticateCaller(context as unknown as AppContext)).id;
};

/** What other tests of this process have had checked; the last key that is brought here is remembered. */
const forgetOthers = async (): Promise<void> => {
  const { token } = await mint(SECRET, "worker", "acme", null);
  await authenticate(token);
  while (isCheckedToken(token)) await authenticate((await mint(SECRET, "worker", "acme", null)).token);
};

it("a thousand keys are remembered as checked, and no more; one that was forgotten is checked again", async () => {
  await forgetOthers();
  const first = await mint(SECRET, "standard", "acme", null);
  expect(await authenticate(first.token)).toBe(first.id);
  expect(isCheckedToken(first.token)).toBe(true);
  for (let count = 2; count < MAX_CHECKED_TOKENS; count += 1)
    await authenticate((await mint(SECRET, "worker", "acme", null)).token);
  expect(isCheckedToken(first.token)).toBe(true);
  await authenticate((await mint(SECRET, "worker", "acme", null)).token);
  expect(isCheckedToken(first.token)).toBe(false);
  expect(await authenticate(first.token)).toBe(first.id);
});

it("a key with a wrong tag is never remembered", async () => {
  const { token } = await mint("another secret", "standard", "acme", null);
  await expect(authenticate(token)).rejects.toMatchObject({ refusal: { code: "authentication_failed" } });
  expect(isCheckedToken(token)).toBe(false);
});
