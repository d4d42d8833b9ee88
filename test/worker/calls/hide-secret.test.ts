import { expect, it } from "vitest";
import { hidingSecret } from "../../../worker/calls/hide-secret.ts";

const SECRET = "Zq7-provider-key-0815";
const failing = (message: string) => async () =>
  ({ ok: false, error: { code: "provider_error", message, retryable: false } }) as const;

it.each([
  ["as it is", `bad key ${SECRET}`, "bad key [key]"],
  ["in part, as providers show it", "bad key sk-abcd****wxyz", "bad key [key]"],
  ["in base64", `bad ${btoa(SECRET)}`, "bad [key]"],
])("a failure's message does not carry the key on %s", async (_, message, shown) => {
  expect(await hidingSecret(SECRET, failing(message))).toMatchObject({ error: { message: shown } });
});

it("nor as part of a header in base64", async () => {
  const outcome = await hidingSecret(SECRET, failing(`sent ${btoa(`Bearer ${SECRET}`)}.`));
  if (outcome.ok) throw new Error("ran");
  expect(outcome.error.message).toMatch(/^sent QmVhcmVy.{0,3}\[key\].{0,3}\.$/);
});
