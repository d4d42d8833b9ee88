// The config of signing in, a proxy's signed header, and a program on a person's machine.

import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { send } from "../support/requests.ts";
import { CLIENT } from "./identity-provider.ts";
import { GRACE, ROLES, START, signInService } from "./sign-in-service.ts";
import { Traveller } from "./traveller.ts";

const service = signInService();
const { config, admin, signIn, ask } = service;

describe("the config", () => {
  it("never shows the secret, keeps it while issuer and client stay, and drops it for another", async () => {
    const { client_secret: _, ...publicClient } = CLIENT;
    const without = (issuer: string) => ({ oidc: { issuer, ...publicClient, name: "Acme" }, roles: ROLES });
    const read = (await admin("GET", "/api/sign-in")).body;
    expect(JSON.stringify(read)).not.toContain(CLIENT.client_secret);
    expect(read).toMatchObject({ redirect_uri: `${service.server.url}/auth/callback`, from: "tenant" });
    expect((await admin("PUT", "/api/sign-in", without(service.idp.issuer))).body.oidc.has_client_secret).toBe(true);
    const removed = {
      ...without(service.idp.issuer),
      oidc: { ...without(service.idp.issuer).oidc, client_secret: null },
    };
    expect((await admin("PUT", "/api/sign-in", removed)).body.oidc.has_client_secret).toBe(false);
    await admin("PUT", "/api/sign-in", config());
    expect((await admin("PUT", "/api/sign-in", without("https://other.example"))).body.oidc.has_client_secret).toBe(
      false,
    );
  });

  it.each([
    ["nobody could sign in", { keys_sign_in: false, roles: [] }],
    ["a regular expression", { roles: [{ claim: "email", matches: ".*@acme\\.com", role: "viewer" }] }],
    ["two questions in a rule", { roles: [{ claim: "a", has: "b", equals: "c", role: "viewer" }] }],
    ["a role that no person has", { roles: [{ claim: "a", has: "b", role: "worker" }] }],
    ["too short a time", { roles: [], renew_seconds: 59 }],
    ["too long a time", { roles: [], renew_seconds: 3_601 }],
    [
      "an address where clouds keep credentials",
      { roles: [], oidc: { issuer: "http://169.254.169.254", client_id: "x", name: "x" } },
    ],
  ])("is refused if it has %s", async (_, body) => {
    expect((await admin("PUT", "/api/sign-in", body)).status).toBe(400);
  });

  it("may turn off signing in with a key, and says how an operator recovers", async () => {
    await admin("PUT", "/api/sign-in", config({ keys_sign_in: false }));
    const refused = await ask(new Traveller(), "POST", "/session", { key: service.server.adminKey });
    expect(refused.status).toBe(403);
    expect(refused.body.detail).toContain("root key");
    expect((await admin("PUT", "/api/sign-in", config())).status).toBe(200);
    expect((await ask(new Traveller(), "POST", "/session", { key: service.server.adminKey })).status).toBe(200);
  });

  it("is an administrator's", async () => {
    const { browser } = await signIn(GRACE);
    for (const [method, route] of [
      ["GET", "/api/sign-in"],
      ["GET", "/api/sign-in/attempts"],
      ["GET", "/api/people"],
    ] as const) {
      expect((await ask(browser, method, route)).status).toBe(403);
    }
  });
});

describe("a proxy's signed header", () => {
  let keys: Server;
  let sign: (claims: JWTPayload) => Promise<string>;

  beforeAll(async () => {
    const pair = await generateKeyPair("ES256", { extractable: true });
    const jwks = { keys: [{ ...(await exportJWK(pair.publicKey)), kid: "k", alg: "ES256" }] };
    keys = createServer((_, response) => response.end(JSON.stringify(jwks)));
    await new Promise<void>((resolve) => keys.listen(0, "127.0.0.1", resolve));
    sign = (claims) =>
      new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "k" }).setExpirationTime("1m").sign(pair.privateKey);
  });
  afterAll(() => keys.close());

  it("opens a session at once, and authorises nothing else", async () => {
    const { port } = keys.address() as AddressInfo;
    const issuer = "https://acme.cloudflareaccess.com";
    const header = "Cf-Access-Jwt-Assertion";
    const jwt_header = { header, jwks_url: `http://127.0.0.1:${port}/certs`, issuer, audience: "app" };
    expect((await admin("PUT", "/api/sign-in", { jwt_header, roles: ROLES, keys_sign_in: false })).status).toBe(200);
    const claims = { sub: "ada-at-access", iss: issuer, aud: ["app"], email: "ada@acme.com" };
    const browser = new Traveller();
    const at = `${service.server.url}${START}?return=/%23/jobs`;
    const come = async (token: string) => browser.step(at, { headers: { [header]: token } });
    for (const wrong of [{ aud: ["other"] }, { iss: "https://evil.example" }, { sub: "" }]) {
      expect((await come(await sign({ ...claims, ...wrong }))).status).toBe(401);
    }
    expect((await come("ada@acme.com")).status).toBe(401);
    expect((await come(await sign({ ...claims, email: "ada@other.com" }))).status).toBe(403);
    const documented = (await admin("GET", "/openapi.json")).body.paths["/auth/{tenant}/start"].get.responses;
    expect(Object.keys(documented)).toEqual(expect.arrayContaining(["200", "302", "401", "403"]));
    expect((await ask(browser, "GET", "/session")).status).toBe(401);
    const good = await sign(claims);
    const bare = await new Traveller().step(`${service.server.url}/api/jobs`, { headers: { [header]: good } });
    expect(bare.status).toBe(401);
    const end = await come(good);
    expect([end.status, end.location]).toEqual([302, `${service.server.url}/#/jobs`]);
    expect((await ask(browser, "GET", "/session")).body).toMatchObject({ role: "viewer", name: "ada@acme.com" });
  });
});

describe("a program on a person's machine", () => {
  const verifier = "a-verifier-of-at-least-forty-three-characters-0";
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const redeem = (body: object) => send({ url: service.server.url, key: "" }, "POST", "/auth/key", body);

  it("gets a key once the person agrees, with its own secret, and only once", async () => {
    const { browser } = await signIn(GRACE);
    const grant = async () =>
      (await ask(browser, "POST", "/auth/grants", { name: "signalbox on laptop", challenge })).body;
    const { code, role } = await grant();
    expect(role).toBe("viewer");
    const made = await redeem({ code, verifier });
    expect([made.status, made.body.role, made.body.tenant]).toEqual([201, "viewer", "default"]);
    expect((await send({ url: service.server.url, key: made.body.key }, "GET", "/session")).body.person.name).toBe(
      "Grace",
    );
    expect((await redeem({ code, verifier })).status).toBe(401);
    const stolen = (await grant()).code;
    expect((await redeem({ code: stolen, verifier: `${verifier}x` })).status).toBe(401);
    expect((await redeem({ code: stolen, verifier })).status).toBe(401);
    expect((await redeem({ code: "forged", verifier })).status).toBe(401);
  });

  it("gets none from the holder of a key", async () => {
    expect((await admin("POST", "/auth/grants", { name: "x", challenge })).status).toBe(403);
  });
});
