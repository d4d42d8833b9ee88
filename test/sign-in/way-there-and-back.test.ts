// The way to the identity provider and back, and every hole that such a way can have.

import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { send } from "../support/requests.ts";
import { openIdentityProvider } from "./identity-provider.ts";
import { ADA, GRACE, START, signInService } from "./sign-in-service.ts";
import { Traveller } from "./traveller.ts";

const service = signInService();
const { config, admin, isDashboard, isCallback, signIn, ask, personOf, lastAttempt, data } = service;

describe("the way there and back", () => {
  it("is worth nothing in a browser that did not begin it, nor a second time", async () => {
    const victim = new Traveller();
    const stopped = await victim.walk(service.server.url + START, isCallback);
    const stolen = stopped.location ?? "";
    expect((await new Traveller().step(stolen)).status).toBe(400);
    expect((await victim.step(stolen)).status).toBe(302);
    const again = await victim.step(stolen);
    expect([again.status, again.cookies.some((text) => /^signalbox-\d+=/.test(text))]).toEqual([400, false]);
  });

  it("refuses another state, and a code that belongs to another sign-in", async () => {
    const browser = new Traveller();
    const one = new URL((await browser.walk(service.server.url + START, isCallback)).location ?? "");
    const other = new URL((await browser.walk(service.server.url + START, isCallback)).location ?? "");
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
    const one = await browser.walk(service.server.url + START, isCallback);
    const two = await browser.walk(service.server.url + START, isCallback);
    for (const tab of [one, two]) expect((await browser.step(tab.location ?? "")).status).toBe(302);
  });

  it("keeps two tenants of one browser apart", async () => {
    const key = readFileSync(path.join(data.path, "root.key"), "utf8").trim();
    const made = await send({ url: service.server.url, key }, "POST", "/admin/tenants", { tenant: "other" });
    const other = { url: service.server.url, key: made.body.admin_key };
    await send(
      other,
      "PUT",
      "/api/sign-in",
      config({ roles: [{ claim: "groups", has: "ml-admins", role: "viewer" }] }),
    );
    const browser = new Traveller();
    const here = await browser.walk(service.server.url + START, isCallback);
    const there = await browser.walk(`${service.server.url}/auth/other/start`, isCallback);
    expect((await browser.step(there.location ?? "")).status).toBe(302);
    expect((await ask(browser, "GET", "/session")).body).toMatchObject({ tenant: "other", role: "viewer" });
    expect((await browser.step(here.location ?? "")).status).toBe(302);
    expect((await ask(browser, "GET", "/session")).body).toMatchObject({ tenant: "default", role: "admin" });
    expect((await send(other, "GET", "/api/people")).body.people.length).toBe(1);
  });

  it("refuses an answer that names another issuer", async () => {
    const browser = new Traveller();
    const back = new URL((await browser.walk(service.server.url + START, isCallback)).location ?? "");
    back.searchParams.set("iss", "https://evil.example");
    expect((await browser.step(back.href)).status).toBe(401);
  });

  it("says which issuer the discovery document names, where another is configured", async () => {
    const issuer = service.idp.issuer.replace("127.0.0.1", "localhost");
    const oidc = { issuer, client_id: "signalbox", name: "Acme" };
    await service.admin("PUT", "/api/sign-in", service.config({ oidc }));
    const { status, text } = await new Traveller().walk(service.server.url + START);
    expect(status).toBe(401);
    expect(text).toContain(`names another issuer, ${service.idp.issuer}: give exactly that`);
  });

  it("takes a signature of another algorithm than the discovery document names, as when a provider changes it", async () => {
    const told = { id_token_signing_alg_values_supported: ["ES256"] };
    const other = await openIdentityProvider(`${service.server.url}/auth/callback`, ADA, told);
    onTestFinished(other.close);
    const { oidc } = config() as { oidc: object };
    await admin("PUT", "/api/sign-in", config({ oidc: { ...oidc, issuer: other.issuer } }));
    const { end } = await signIn(ADA);
    expect([end.status, end.location]).toEqual([302, `${service.server.url}/`]);
  });

  it("keeps its state in a sealed cookie of ten minutes that other sites' requests do not carry", async () => {
    const browser = new Traveller();
    const begun = await browser.step(service.server.url + START);
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
    expect([end.status, end.location]).toEqual([302, `${service.server.url}/`]);
  });

  it.each([
    ["cross-site", ""],
    ["same-site", "?mode=renew"],
  ])("asks a browser that another site sent here: %s%s", async (site, query) => {
    const headers = { "sec-fetch-site": site };
    const { status, text, cookies } = await new Traveller().step(service.server.url + START + query, { headers });
    expect([status, cookies]).toEqual([200, []]);
    expect(text).toContain("<h1>Sign in to default?</h1>");
    expect(text).toContain(`href="${START}${query}"`);
  });

  it.each(["same-origin", "none"])("asks nothing where the browser says %s", async (site) => {
    const headers = { "sec-fetch-site": site };
    expect((await new Traveller().step(service.server.url + START, { headers })).status).toBe(302);
  });

  it("names no forwarded host that nobody configured", async () => {
    const headers = { "x-forwarded-host": "evil.example", "x-forwarded-proto": "http" };
    const { location } = await new Traveller().step(service.server.url + START, { headers });
    expect(new URL(location ?? "").searchParams.get("redirect_uri")).toBe(`${service.server.url}/auth/callback`);
  });

  it("binds its cookie to the host where people come over https, also behind two proxies", async () => {
    const headers = { "x-forwarded-proto": "https, http" };
    const { cookies } = await new Traveller().step(service.server.url + START, { headers });
    expect(cookies).toEqual([expect.stringMatching(/^__Host-signalbox-auth-.*; Secure/)]);
  });

  it("says that the identity provider is down, and who is signed in stays", async () => {
    const { browser } = await signIn(ADA);
    const other = new Traveller();
    const back = await other.walk(service.server.url + START, isCallback);
    service.idp.isDown = true;
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
    const again = await browser.walk(`${service.server.url}${START}?mode=renew&return=/%23/jobs`, isDashboard);
    expect([again.status, again.location]).toEqual([302, `${service.server.url}/#/jobs`]);
    expect(again.cookies.some((text) => /^signalbox-\d+=/.test(text))).toBe(true);
    const stranger = await new Traveller().walk(
      `${service.server.url}${START}?mode=renew&return=/%23/jobs`,
      isDashboard,
    );
    expect([stranger.status, stranger.location]).toEqual([302, `${service.server.url}/#/jobs`]);
    expect(stranger.cookies.some((text) => /^signalbox-\d+=/.test(text))).toBe(false);
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
    expect((await new Traveller().step(`${service.server.url}/auth/nobody/start`)).status).toBe(404);
    const { text } = await new Traveller().step(`${service.server.url}/auth/nobody`);
    expect(JSON.parse(text)).toEqual({ tenant: "nobody", oidc: null, jwt_header: false, keys_sign_in: true });
    const known = await new Traveller().step(`${service.server.url}/auth/default`);
    expect(JSON.parse(known.text).oidc).toEqual({ name: "Acme" });
  });
});
