// A token that an identity provider signed, and every token that it did not.

import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { verifyToken } from "../../src/sign-in/signed-token.ts";

const ISSUER = "https://id.example";
const AUDIENCE = "signalbox";
const NOW = Date.UTC(2026, 0, 1, 12);
const SECONDS = NOW / 1000;

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;
let ours: Pair;
let theirs: Pair;
let jwks: object;
let keySets = 0;

beforeAll(async () => {
  ours = await generateKeyPair("RS256", { extractable: true });
  theirs = await generateKeyPair("RS256", { extractable: true });
  jwks = { keys: [{ ...(await exportJWK(ours.publicKey)), kid: "one", alg: "RS256", use: "sig" }] };
});

const provider = () => vi.fn(async () => Response.json(jwks));

const signed = (
  claims: JWTPayload = {},
  { kid = "one" as string | null, by = ours, alg = "RS256" } = {},
): Promise<string> =>
  new SignJWT({ sub: "ada", iss: ISSUER, aud: AUDIENCE, iat: SECONDS, exp: SECONDS + 60, ...claims })
    .setProtectedHeader({ alg, ...(kid !== null && { kid }) })
    .sign(by.privateKey);

/** What is wrong with it; null if it is taken. Each has a key set of its own. */
const wrongWith = async (token: string, nowAt = NOW, fetch = provider()): Promise<string | null> => {
  keySets += 1;
  const expected = { jwksUrl: `https://id.example/keys/${keySets}`, issuer: ISSUER, audience: AUDIENCE };
  return verifyToken(token, expected, fetch, nowAt).then(
    () => null,
    (error: Error) => error.message,
  );
};

describe("a signed token", () => {
  it("is taken from the provider, also for several audiences", async () => {
    expect(await wrongWith(await signed())).toBe(null);
    expect(await wrongWith(await signed({ aud: ["other", AUDIENCE] }))).toBe(null);
  });

  it("is refused for another issuer or audience, without a subject or an end, or with a long subject", async () => {
    expect(await wrongWith(await signed({ iss: "https://evil.example" }))).toContain("iss");
    expect(await wrongWith(await signed({ aud: "other" }))).toContain("aud");
    expect(await wrongWith(await signed({ sub: "" }))).toContain("names nobody");
    expect(await wrongWith(await signed({ sub: "a".repeat(255) }))).toBe(null);
    expect(await wrongWith(await signed({ sub: "a".repeat(256) }))).toContain("longer than 255");
    expect(await wrongWith(await signed({ exp: undefined } as unknown as JWTPayload))).toContain("has no exp");
  });

  it("may be five minutes off, and no more", async () => {
    const token = await signed({ nbf: SECONDS });
    expect(await wrongWith(token, NOW + 359_000)).toBe(null);
    expect(await wrongWith(token, NOW + 361_000)).toContain("expired");
    expect(await wrongWith(token, NOW - 299_000)).toBe(null);
    expect(await wrongWith(token, NOW - 301_000)).toContain("future");
    expect(await wrongWith(await signed(), NOW - 301_000)).toContain("future");
  });

  it("is refused without a signature, with another's, or with one that the public key could make", async () => {
    const claims = { sub: "ada", iss: ISSUER, aud: AUDIENCE, exp: SECONDS + 60 };
    expect(await wrongWith(new UnsecuredJWT(claims).encode())).not.toBe(null);
    expect(await wrongWith(await signed({}, { by: theirs }))).toContain("signature");
    const secret = new TextEncoder().encode(JSON.stringify(await exportJWK(ours.publicKey)));
    const forged = await new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "one" }).sign(secret);
    expect(await wrongWith(forged)).not.toBe(null);
    const [head, , signature] = (await signed()).split(".");
    const other = btoa(JSON.stringify({ ...claims, sub: "boss" })).replaceAll("=", "");
    expect(await wrongWith(`${head}.${other}.${signature}`)).toContain("signature");
    expect(await wrongWith("not a token")).not.toBe(null);
  });

  it("with an unknown key has the keys fetched again, but not each time", async () => {
    const fetch = provider();
    const expected = { jwksUrl: "https://id.example/rotating", issuer: ISSUER, audience: AUDIENCE };
    const take = async (token: string) =>
      verifyToken(token, expected, fetch, NOW).catch((error: Error) => error.message);
    expect(await take(await signed())).toMatchObject({ sub: "ada" });
    for (let times = 0; times < 5; times += 1) {
      expect(await take(await signed({}, { kid: "two", by: theirs }))).toContain("does not publish");
    }
    expect(fetch.mock.calls.length).toBe(1);
    vi.useFakeTimers({ now: Date.now() + 31_000 });
    expect(await take(await signed({}, { kid: "two", by: theirs }))).toContain("does not publish");
    expect(fetch.mock.calls.length).toBe(2);
    vi.useRealTimers();
  });

  it("of a new key without an id, or under the id of the old one, has the keys fetched again, too", async () => {
    for (const kid of [undefined, "one"]) {
      const published = (pair: Pair) =>
        exportJWK(pair.publicKey).then((key) => ({ keys: [{ ...key, kid, use: "sig" }] }));
      let answer = await published(ours);
      const fetch = vi.fn(async () => Response.json(answer));
      const expected = { jwksUrl: `https://id.example/renewed/${kid}`, issuer: ISSUER, audience: AUDIENCE };
      const take = async (by: Pair) => {
        const token = new SignJWT({ sub: "ada", iss: ISSUER, aud: AUDIENCE, exp: SECONDS + 60 });
        const header = kid === undefined ? { alg: "RS256" } : { alg: "RS256", kid };
        const signedToken = await token.setProtectedHeader(header).sign(by.privateKey);
        return verifyToken(signedToken, expected, fetch, NOW).catch((error: Error) => error.message);
      };
      expect(await take(ours)).toMatchObject({ sub: "ada" });
      answer = await published(theirs);
      expect(await take(theirs)).toContain("signature");
      expect(fetch.mock.calls.length).toBe(1);
      vi.useFakeTimers({ now: Date.now() + 31_000 });
      expect(await take(theirs)).toMatchObject({ sub: "ada" });
      for (let times = 0; times < 5; times += 1) expect(await take(ours)).toContain("signature");
      expect(fetch.mock.calls.length).toBe(2);
      vi.useRealTimers();
    }
  });

  it("may be signed with any of several keys without an id, or under one id", async () => {
    const stranger = await generateKeyPair("RS256", { extractable: true });
    for (const kid of [null, "one"]) {
      const keys = await Promise.all(
        [theirs, ours].map(async ({ publicKey }) => ({
          ...(await exportJWK(publicKey)),
          ...(kid !== null && { kid }),
        })),
      );
      const fetch = vi.fn(async () => Response.json({ keys }));
      const wrong = (by: Pair) => signed({}, { by, kid }).then((token) => wrongWith(token, NOW, fetch));
      expect([await wrong(ours), await wrong(theirs)]).toEqual([null, null]);
      expect(await wrong(stranger)).toContain("signature");
      const expired = await signed({ exp: SECONDS - 400 }, { kid });
      expect(await wrongWith(expired, NOW, fetch)).toContain("expired");
    }
  });

  it("has what is no list of keys asked for once a second, too", async () => {
    let answer: unknown = { keys: "none" };
    const fetch = vi.fn(async () => Response.json(answer));
    const expected = { jwksUrl: "https://id.example/junk", issuer: ISSUER, audience: AUDIENCE };
    const take = async () => verifyToken(await signed(), expected, fetch, NOW).catch((error: Error) => error.message);
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      for (let times = 0; times < 5; times += 1) expect(await take()).toContain("cannot be read: no list of keys");
      expect(fetch.mock.calls.length).toBe(1);
      answer = jwks;
      vi.setSystemTime(Date.now() + 1_001);
      expect(await take()).toMatchObject({ sub: "ada" });
    } finally {
      vi.useRealTimers();
    }
  });

  it("has keys that do not come asked for once a second, also when the earlier ones are still known", async () => {
    let isDown = true;
    const fetch = vi.fn(async () => (isDown ? new Response(null, { status: 500 }) : Response.json(jwks)));
    const expected = { jwksUrl: "https://id.example/failing", issuer: ISSUER, audience: AUDIENCE };
    const take = async (token: string) =>
      verifyToken(token, expected, fetch, NOW).catch((error: Error) => error.message);
    const token = await signed();
    const unknown = await signed({}, { kid: "two", by: theirs });
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      for (let times = 0; times < 5; times += 1) expect(await take(token)).toContain("cannot be read: 500");
      expect(fetch.mock.calls.length).toBe(1);
      isDown = false;
      vi.setSystemTime(Date.now() + 1_001);
      expect(await take(token)).toMatchObject({ sub: "ada" });
      isDown = true;
      vi.setSystemTime(Date.now() + 31_000);
      for (let times = 0; times < 5; times += 1) expect(await take(unknown)).toContain("cannot be read: 500");
      expect(fetch.mock.calls.length).toBe(3);
      expect(await take(token)).toMatchObject({ sub: "ada" });
    } finally {
      vi.useRealTimers();
    }
  });
});
