// People sign in with a real identity provider, against the self-hosted server: the way there and back, what the role
// opens, and every hole that such a way can have.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Body, send } from "../support/requests.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";
import { type Account, CLIENT, type IdentityProvider, openIdentityProvider } from "./identity-provider.ts";
import { type Step, Traveller } from "./traveller.ts";

const data = folderForAllTests();
let server: SelfHosted;
let idp: IdentityProvider;

const ADA: Account = {
  sub: "ada",
  name: "Ada Lovelace",
  email: "ada@acme.com",
  email_verified: true,
  groups: ["ml-admins"],
};
const GRACE: Account = { sub: "grace", name: "Grace", email: "grace@acme.com", email_verified: true, groups: [] };

const ROLES = [
  { claim: "groups", has: "ml-admins", role: "admin" },
  { claim: "realm_access.roles", has: "operator", role: "standard" },
  { claim: "email", matches: "*@acme.com", role: "viewer" },
];

const config = (more: object = {}): object => ({
  oidc: { issuer: idp.issuer, ...CLIENT, name: "Acme", scopes: ["openid", "email", "profile", "groups"] },
  roles: ROLES,
  ...more,
});

const admin = async (method: string, route: string, body?: unknown): Promise<{ status: number; body: Body }> =>
  send({ url: server.url, key: server.adminKey }, method, route, body);

beforeAll(async () => {
  const env = { SERVICE_SIGN_IN_PRIVATE: "1", SERVICE_CATALOG_SYNC: "0" };
  server = await startSelfHosted(data.path, { env });
  idp = await openIdentityProvider(`${server.url}/auth/callback`, ADA);
}, 90_000);

afterAll(async () => {
  await server?.kill();
  await idp?.close();
});

beforeEach(async () => {
  idp.next = ADA;
  idp.isDown = false;
  expect((await admin("PUT", "/api/sign-in", config())).status).toBe(200);
});

const START = "/auth/default/start";
const isDashboard = (url: string): boolean => url.startsWith(`${server.url}/`) && !url.includes("/auth/");
const isCallback = (url: string): boolean => url.startsWith(`${server.url}/auth/callback`);

const signIn = async (account: Account, place = START): Promise<{ browser: Traveller; end: Step }> => {
  idp.next = account;
  const browser = new Traveller();
  return { browser, end: await browser.walk(server.url + place, isDashboard) };
};

const ask = async (
  browser: Traveller,
  method: string,
  route: string,
  body?: unknown,
): Promise<{ status: number; body: Body }> => {
  const headers = { "content-type": "application/json", origin: server.url };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const step = await browser.step(server.url + route, { method, headers, ...sent });
  return { status: step.status, body: step.text === "" ? null : JSON.parse(step.text) };
};

const personOf = async (sub: string): Promise<Body> => {
  const { people } = (await admin("GET", "/api/people")).body;
  return people.find(({ email }: Body) => email === `${sub}@acme.com`);
};

const lastAttempt = async (): Promise<Body> => (await admin("GET", "/api/sign-in/attempts")).body.attempts[0];

describe("a person", () => {
  it("signs in at the identity provider, and has the role of the first rule that fits", async () => {
    const { browser, end } = await signIn(ADA, `${START}?return=${encodeURIComponent("/#/jobs")}`);
    expect([end.status, end.location]).toEqual([302, `${server.url}/#/jobs`]);
    const cookie = end.cookies.find((text) => text.startsWith("signalbox="));
    expect(cookie).toMatch(/HttpOnly/);
    expect(cookie).toMatch(/SameSite=Strict/);
    const { body } = await ask(browser, "GET", "/session");
    expect(body).toMatchObject({ role: "admin", name: "Ada Lovelace", key_id: null, tenant: "default" });
    expect(body.person).toMatchObject({ email: "ada@acme.com", issuer: idp.issuer, blocked: false });
    expect(await lastAttempt()).toMatchObject({
      outcome: "signed_in",
      rule: ROLES[0],
      claims: { groups: ["ml-admins"], email: "ada@acme.com" },
      person_id: body.person.id,
    });
  });

  it("whom no rule fits is refused, and sees what the provider said and which rules there are", async () => {
    const { browser, end } = await signIn({
      sub: "eve",
      name: "<b>Eve</b>",
      email: "eve@evil.example",
      groups: ["guests"],
    });
    expect(end.status).toBe(403);
    expect(end.text).toContain("guests");
    expect(end.text).toContain("groups has ml-admins: admin");
    expect(end.text).not.toContain("<b>Eve");
    expect(end.text).not.toMatch(/<script/i);
    expect((await ask(browser, "GET", "/session")).status).toBe(401);
    expect(await lastAttempt()).toMatchObject({ outcome: "refused", rule: null, claims: { groups: ["guests"] } });
  });

  it("has no role by an address that the provider has not verified", async () => {
    const { end } = await signIn({ ...GRACE, sub: "mallory", email: "boss@acme.com", email_verified: false });
    expect(end.status).toBe(403);
  });

  it("who lost the group has the lower role everywhere at the next sign-in, also in sessions that are open", async () => {
    const { browser } = await signIn(ADA);
    expect((await ask(browser, "GET", "/api/audit")).status).toBe(200);
    await signIn({ ...ADA, groups: [] });
    expect((await ask(browser, "GET", "/api/audit")).status).toBe(403);
    expect((await ask(browser, "GET", "/session")).body.role).toBe("viewer");
    const { end } = await signIn({ ...ADA, groups: [], email: "ada@elsewhere.example" });
    expect(end.status).toBe(403);
    expect((await ask(browser, "GET", "/session")).status).toBe(401);
  });

  it("who is blocked has no session, socket or key from that moment on; the keys live again", async () => {
    const { browser } = await signIn(ADA);
    const made = await ask(browser, "POST", "/api/keys", { name: "laptop", role: "standard" });
    expect([made.status, made.body.role]).toEqual([201, "standard"]);
    const withKey = () => send({ url: server.url, key: made.body.key }, "GET", "/api/jobs");
    expect((await withKey()).status).toBe(200);
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/live`, {
      headers: { authorization: `Bearer ${made.body.key}` },
    } as unknown as string[]);
    await new Promise((resolve) => socket.addEventListener("message", resolve, { once: true }));
    const closed = new Promise<number>((resolve) => socket.addEventListener("close", ({ code }) => resolve(code)));
    const { id } = await personOf("ada");
    expect((await admin("POST", `/api/people/${id}/block`)).body.blocked).toBe(true);
    expect(await closed).toBe(4401);
    expect((await ask(browser, "GET", "/session")).status).toBe(401);
    const suspended = await withKey();
    expect([suspended.status, suspended.body.code]).toEqual([401, "key_suspended"]);
    expect((await signIn(ADA)).end.status).toBe(403);
    await admin("POST", `/api/people/${id}/unblock`);
    expect((await withKey()).status).toBe(200);
    expect((await ask(browser, "GET", "/session")).status).toBe(401);
  });

  it("loses all sessions at once when an administrator ends them", async () => {
    const first = await signIn(GRACE);
    const second = await signIn(GRACE);
    const { id } = await personOf("grace");
    expect((await admin("DELETE", `/api/people/${id}/sessions`)).status).toBe(204);
    for (const { browser } of [first, second]) expect((await ask(browser, "GET", "/session")).status).toBe(401);
    expect((await admin("DELETE", "/api/people/person_nobody/sessions")).status).toBe(404);
    expect((await admin("POST", "/api/people/no%20id/block")).status).toBe(404);
  });

  it("makes keys up to the own role, and sees only the own ones", async () => {
    const { browser } = await signIn(GRACE);
    expect((await ask(browser, "POST", "/api/keys", { name: "x", role: "admin" })).status).toBe(403);
    expect((await ask(browser, "POST", "/api/keys", { name: "x", role: "client" })).status).toBe(403);
    const made = await ask(browser, "POST", "/api/keys", { name: "x", role: "viewer" });
    expect(made.status).toBe(201);
    const { keys } = (await ask(browser, "GET", "/api/keys")).body;
    expect(keys.map(({ id }: Body) => id)).toEqual([made.body.id]);
    await signIn({ ...GRACE, realm_access: { roles: ["operator"] } });
    expect((await ask(browser, "POST", "/api/keys", { name: "c", role: "client" })).status).toBe(201);
    const standard = await ask(browser, "POST", "/api/keys", { name: "s", role: "standard" });
    const create = () => send({ url: server.url, key: standard.body.key }, "POST", "/api/jobs", { prompt: "x" });
    expect((await create()).status).toBe(201);
    await signIn(GRACE);
    expect((await create()).status).toBe(403);
    expect((await ask(browser, "DELETE", `/api/keys/${made.body.id}`)).status).toBe(204);
  });

  it("is named in the audit, in jobs, in pauses and in the killswitch", async () => {
    const { browser } = await signIn(ADA);
    const { id } = await personOf("ada");
    const job = (await ask(browser, "POST", "/api/jobs", { prompt: "x" })).body;
    const name = "Ada Lovelace <ada@acme.com>";
    expect(job.created_by).toEqual({ key_id: null, person_id: id, name });
    await admin("POST", "/presence", { instance: "w1", provider: "p", status: "online", tags: "" });
    expect((await ask(browser, "POST", "/api/workers/w1/pause", { reason: "a test" })).status).toBe(200);
    await ask(browser, "POST", "/killswitch", { level: 4, reason: "a test" });
    const { body: state } = await ask(browser, "GET", "/killswitch");
    expect(state.activated_by).toBe(name);
    const during = await signIn(GRACE);
    expect(during.end.status).toBe(302);
    await ask(browser, "DELETE", "/killswitch");
    const { entries } = (await admin("GET", `/api/audit?actor=${id}`)).body;
    const actions = entries.map(({ action }: Body) => action);
    expect(actions).toEqual(expect.arrayContaining(["killswitch.activated", "worker.paused"]));
    expect(entries[0].actor).toEqual({ key_id: null, person_id: id, name });
  });
});

describe("the way there and back", () => {
  it("is worth nothing in a browser that did not begin it, nor a second time", async () => {
    const victim = new Traveller();
    const stopped = await victim.walk(server.url + START, isCallback);
    const stolen = stopped.location ?? "";
    expect((await new Traveller().step(stolen)).status).toBe(400);
    expect((await victim.step(stolen)).status).toBe(302);
    const again = await victim.step(stolen);
    expect([again.status, again.cookies.some((text) => text.startsWith("signalbox="))]).toEqual([400, false]);
  });

  it("refuses another state, and a code that belongs to another sign-in", async () => {
    const browser = new Traveller();
    const one = new URL((await browser.walk(server.url + START, isCallback)).location ?? "");
    const other = new URL((await browser.walk(server.url + START, isCallback)).location ?? "");
    const mixed = new URL(one);
    mixed.searchParams.set("code", other.searchParams.get("code") ?? "");
    const end = await browser.step(mixed.href);
    expect(end.status).toBe(401);
    expect(await lastAttempt()).toMatchObject({ outcome: "failed" });
    const forged = new URL(other);
    forged.searchParams.set("state", "a".repeat(43));
    expect((await browser.step(forged.href)).status).toBe(400);
  });

  it("goes on in two tabs at a time", async () => {
    const browser = new Traveller();
    const one = await browser.walk(server.url + START, isCallback);
    const two = await browser.walk(server.url + START, isCallback);
    for (const tab of [one, two]) expect((await browser.step(tab.location ?? "")).status).toBe(302);
  });

  it("keeps two tenants of one browser apart", async () => {
    const key = readFileSync(path.join(data.path, "root.key"), "utf8").trim();
    const made = await send({ url: server.url, key }, "POST", "/admin/tenants", { tenant: "other" });
    const other = { url: server.url, key: made.body.admin_key };
    await send(
      other,
      "PUT",
      "/api/sign-in",
      config({ roles: [{ claim: "groups", has: "ml-admins", role: "viewer" }] }),
    );
    const browser = new Traveller();
    const here = await browser.walk(server.url + START, isCallback);
    const there = await browser.walk(`${server.url}/auth/other/start`, isCallback);
    expect((await browser.step(there.location ?? "")).status).toBe(302);
    expect((await ask(browser, "GET", "/session")).body).toMatchObject({ tenant: "other", role: "viewer" });
    expect((await browser.step(here.location ?? "")).status).toBe(302);
    expect((await ask(browser, "GET", "/session")).body).toMatchObject({ tenant: "default", role: "admin" });
    expect((await send(other, "GET", "/api/people")).body.people.length).toBe(1);
  });

  it("refuses an answer that names another issuer", async () => {
    const browser = new Traveller();
    const back = new URL((await browser.walk(server.url + START, isCallback)).location ?? "");
    back.searchParams.set("iss", "https://evil.example");
    expect((await browser.step(back.href)).status).toBe(401);
  });

  it("keeps its state in a sealed cookie of ten minutes that other sites' requests do not carry", async () => {
    const browser = new Traveller();
    const begun = await browser.step(server.url + START);
    expect(begun.status).toBe(302);
    const cookie = begun.cookies.find((text) => text.startsWith("signalbox-auth-")) ?? "";
    expect(cookie).toMatch(/Max-Age=600/);
    expect(cookie).toMatch(/HttpOnly/);
    expect(cookie).toMatch(/SameSite=Lax/);
    const query = new URL(begun.location ?? "").searchParams;
    expect(query.get("code_challenge_method")).toBe("S256");
    expect(cookie).not.toContain(query.get("nonce"));
    expect([...query.keys()]).toEqual(expect.arrayContaining(["state", "nonce", "code_challenge"]));
  });

  it.each([
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "/\t/evil.example",
    "javascript:alert(1)",
    "/api/jobs",
    "/%2f/evil.example",
  ])("leads to no other place than the dashboard: %s", async (place) => {
    const { end } = await signIn(ADA, `${START}?return=${encodeURIComponent(place)}`);
    expect([end.status, end.location]).toEqual([302, `${server.url}/`]);
  });

  it("names no forwarded host that nobody configured", async () => {
    const headers = { "x-forwarded-host": "evil.example", "x-forwarded-proto": "http" };
    const { location } = await new Traveller().step(server.url + START, { headers });
    expect(new URL(location ?? "").searchParams.get("redirect_uri")).toBe(`${server.url}/auth/callback`);
  });

  it("says that the identity provider is down, and who is signed in stays", async () => {
    const { browser } = await signIn(ADA);
    const other = new Traveller();
    const back = await other.walk(server.url + START, isCallback);
    idp.isDown = true;
    const end = await other.step(back.location ?? "");
    expect([end.status, end.text.includes("answers 503")]).toEqual([502, true]);
    expect(await lastAttempt()).toMatchObject({ outcome: "failed", detail: expect.stringContaining("503") });
    expect((await ask(browser, "GET", "/session")).status).toBe(200);
  });

  it("tests without applying", async () => {
    const account = { ...GRACE, sub: "tester", email: "tester@acme.com" };
    const { browser, end } = await signIn(account, `${START}?mode=test`);
    expect([end.status, end.text.includes("you would have role viewer")]).toEqual([200, true]);
    expect((await ask(browser, "GET", "/session")).status).toBe(401);
    expect(await personOf("tester")).toBe(undefined);
    expect(await lastAttempt()).toMatchObject({ outcome: "tested", person_id: null });
  });

  it("is silent where it only renews: a person who is not signed in there any more is led back without a session", async () => {
    const { browser } = await signIn(ADA);
    const again = await browser.walk(`${server.url}${START}?mode=renew&return=/%23/jobs`, isDashboard);
    expect([again.status, again.location]).toEqual([302, `${server.url}/#/jobs`]);
    expect(again.cookies.some((text) => text.startsWith("signalbox="))).toBe(true);
    const stranger = await new Traveller().walk(`${server.url}${START}?mode=renew&return=/%23/jobs`, isDashboard);
    expect([stranger.status, stranger.location]).toEqual([302, `${server.url}/#/jobs`]);
    expect(stranger.cookies.some((text) => text.startsWith("signalbox="))).toBe(false);
  });

  it("opens a session that ends when the role must be computed again", async () => {
    await admin("PUT", "/api/sign-in", config({ renew_seconds: 60 }));
    const before = Date.now();
    const { browser } = await signIn(ADA);
    const { expires_at } = (await ask(browser, "GET", "/session")).body;
    expect(Date.parse(expires_at)).toBeGreaterThanOrEqual(before + 60_000);
    expect(Date.parse(expires_at)).toBeLessThanOrEqual(Date.now() + 60_000);
  });

  it("is offered by an unknown tenant as by one that has configured nothing", async () => {
    expect((await new Traveller().step(`${server.url}/auth/nobody/start`)).status).toBe(404);
    const { text } = await new Traveller().step(`${server.url}/auth/nobody`);
    expect(JSON.parse(text)).toEqual({ tenant: "nobody", oidc: null, jwt_header: false, keys_sign_in: true });
    const known = await new Traveller().step(`${server.url}/auth/default`);
    expect(JSON.parse(known.text).oidc).toEqual({ name: "Acme" });
  });
});

describe("the config", () => {
  it("never shows the secret, keeps it while issuer and client stay, and drops it for another", async () => {
    const { client_secret: _, ...publicClient } = CLIENT;
    const without = (issuer: string) => ({ oidc: { issuer, ...publicClient, name: "Acme" }, roles: ROLES });
    const read = (await admin("GET", "/api/sign-in")).body;
    expect(JSON.stringify(read)).not.toContain(CLIENT.client_secret);
    expect(read).toMatchObject({ redirect_uri: `${server.url}/auth/callback`, from: "tenant" });
    expect((await admin("PUT", "/api/sign-in", without(idp.issuer))).body.oidc.has_client_secret).toBe(true);
    const removed = { ...without(idp.issuer), oidc: { ...without(idp.issuer).oidc, client_secret: null } };
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
    const refused = await ask(new Traveller(), "POST", "/session", { key: server.adminKey });
    expect(refused.status).toBe(403);
    expect(refused.body.detail).toContain("root key");
    expect((await admin("PUT", "/api/sign-in", config())).status).toBe(200);
    expect((await ask(new Traveller(), "POST", "/session", { key: server.adminKey })).status).toBe(200);
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
    const at = `${server.url}${START}?return=/%23/jobs`;
    const come = async (token: string) => browser.step(at, { headers: { [header]: token } });
    for (const wrong of [{ aud: ["other"] }, { iss: "https://evil.example" }, { sub: "" }]) {
      expect((await come(await sign({ ...claims, ...wrong }))).status).toBe(401);
    }
    expect((await come("ada@acme.com")).status).toBe(401);
    expect((await ask(browser, "GET", "/session")).status).toBe(401);
    const good = await sign(claims);
    const bare = await new Traveller().step(`${server.url}/api/jobs`, { headers: { [header]: good } });
    expect(bare.status).toBe(401);
    const end = await come(good);
    expect([end.status, end.location]).toEqual([302, `${server.url}/#/jobs`]);
    expect((await ask(browser, "GET", "/session")).body).toMatchObject({ role: "viewer", name: "ada@acme.com" });
  });
});

describe("a program on a person's machine", () => {
  const verifier = "a-verifier-of-at-least-forty-three-characters-0";
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const redeem = (body: object) => send({ url: server.url, key: "" }, "POST", "/auth/key", body);

  it("gets a key once the person agrees, with its own secret, and only once", async () => {
    const { browser } = await signIn(GRACE);
    const grant = async () =>
      (await ask(browser, "POST", "/auth/grants", { name: "signalbox on laptop", challenge })).body;
    const { code, role } = await grant();
    expect(role).toBe("viewer");
    const made = await redeem({ code, verifier });
    expect([made.status, made.body.role, made.body.tenant]).toEqual([201, "viewer", "default"]);
    expect((await send({ url: server.url, key: made.body.key }, "GET", "/session")).body.person.name).toBe("Grace");
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
