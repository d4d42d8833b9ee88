// In a real browser: the button, the way back into the page that was asked for, what a viewer sees, the settings, and
// `signalbox login` with one click of consent.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { lacksBrowser, startWorld, type World } from "../dashboard/browser.ts";
import { SIGNALBOX } from "../support/command-line.ts";
import type { Body } from "../support/requests.ts";
import { type Account, CLIENT, type IdentityProvider, openIdentityProvider } from "./identity-provider.ts";

const ADA: Account = {
  sub: "ada",
  name: "Ada Lovelace",
  email: "ada@acme.com",
  email_verified: true,
  groups: ["admins"],
};
const GRACE: Account = { sub: "grace", name: "Grace", email: "grace@acme.com", email_verified: true, groups: [] };

describe.skipIf(lacksBrowser())("in a browser", () => {
  let world: World;
  let idp: IdentityProvider;
  const config = (more: object = {}): object => ({
    oidc: { issuer: idp.issuer, ...CLIENT, name: "Acme", scopes: ["openid", "email", "profile", "groups"] },
    roles: [
      { claim: "groups", has: "admins", role: "admin" },
      { claim: "email", matches: "*@acme.com", role: "viewer" },
    ],
    ...more,
  });

  beforeAll(async () => {
    world = await startWorld({ hasWorker: false, env: { SERVICE_SIGN_IN_PRIVATE: "1" }, hasOpenerPolicy: true });
    idp = await openIdentityProvider(`${world.server.url}/auth/callback`, ADA);
  }, 90_000);
  afterAll(async () => {
    await idp?.close();
    await world?.close();
  });
  beforeEach(async () => {
    idp.next = ADA;
    idp.isDown = false;
    await world.call("PUT", "/api/sign-in", config());
  });

  const signIn = async (place: string): Promise<Page> => {
    const { page } = await world.visit(place);
    await page.getByRole("link", { name: "Sign in with Acme" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    return page;
  };

  it("a person signs in with a click, and lands on the page that was asked for", async () => {
    const page = await signIn("/#/jobs");
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    expect(page.url()).toBe(`${world.server.url}/#/jobs`);
    await page.reload();
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    await page.goBack();
    expect(page.url()).not.toContain("code=");
    await page.goto(`${world.server.url}/#/`);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("link", { name: "Sign in with Acme" }).waitFor();
    expect(await page.evaluate(async () => (await fetch("/session")).status)).toBe(401);
  });

  it("a link of another site signs nobody in before a click", async () => {
    const { page } = await world.visit("/");
    // Another site than 127.0.0.1.
    const link = `<a href="${world.server.url}/auth/default/start?return=/%23/jobs&amp;mode=sign_in">A link</a>`;
    await page.route("http://elsewhere.localhost/", (route) => route.fulfill({ contentType: "text/html", body: link }));
    await page.goto("http://elsewhere.localhost/");
    await page.getByRole("link", { name: "A link" }).click();
    await page.getByRole("heading", { name: "Sign in to default?" }).waitFor();
    expect(await page.context().cookies()).toEqual([]);
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    expect(page.url()).toBe(`${world.server.url}/#/jobs`);
  });

  it("a viewer sees the dashboard, and is offered nothing that would be refused", async () => {
    idp.next = GRACE;
    const page = await signIn("/");
    const refused: string[] = [];
    page.on("response", (response) => {
      if (response.status() === 403) refused.push(response.url());
    });
    await page.getByRole("link", { name: "Jobs" }).waitFor();
    expect(await page.getByRole("link", { name: "Catalog" }).count()).toBe(0);
    await page.goto(`${world.server.url}/#/settings/keys`);
    await page.getByRole("table", { name: "Keys" }).waitFor();
    await page.waitForLoadState("networkidle");
    expect(refused).toEqual([]);
    await page.getByRole("button", { name: "New key" }).click();
    expect(await page.getByLabel("Role").locator("option, input").count()).toBeLessThanOrEqual(1);
    expect(await page.getByRole("link", { name: "People" }).count()).toBe(0);
  });

  it("the key field is gone where keys do not sign in", async () => {
    await world.call("PUT", "/api/sign-in", config({ keys_sign_in: false }));
    const { page } = await world.visit("/");
    await page.getByRole("link", { name: "Sign in with Acme" }).waitFor();
    expect(await page.getByLabel("Key").count()).toBe(0);
  });

  it("an administrator sees the last sign-ins, and blocks a person, whose page ends", async () => {
    idp.next = GRACE;
    const hers = await signIn("/");
    idp.next = ADA;
    const page = await signIn("/#/settings/sign-in");
    await page.getByRole("table", { name: "Last sign-ins" }).getByText("grace@acme.com").first().waitFor();
    expect(await page.getByLabel("Sign-in as JSON").inputValue()).not.toContain(CLIENT.client_secret);
    await page.getByRole("link", { name: "People" }).click();
    await page.getByRole("button", { name: "Block Grace" }).click();
    await hers.getByRole("link", { name: "Sign in with Acme" }).waitFor();
    await page.getByRole("button", { name: "Unblock Grace" }).click();
    await page.getByRole("button", { name: "Block Grace" }).waitFor();
  });

  it("of two administrators who change it at once, the second is told, and undoes nothing", async () => {
    await world.call("PUT", "/api/sign-in", config({ keys_sign_in: true }));
    idp.next = ADA;
    const page = await signIn("/#/settings/sign-in");
    const editor = page.getByLabel("Sign-in as JSON");
    await editor.fill((await editor.inputValue()).replace("3600", "1800"));
    await world.call("PUT", "/api/sign-in", config({ keys_valid_days: 7 }));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText(/^Someone else saved another config meanwhile/).waitFor();
    const stored = await world.call<Body>("GET", "/api/sign-in");
    expect(stored).toMatchObject({ keys_valid_days: 7, renew_seconds: 3600 });
  });

  it("who is signed in stays on the page while the identity provider is down, and is renewed once it is back", async () => {
    await world.call("PUT", "/api/sign-in", config({ renew_seconds: 60 }));
    const { page } = await world.visit("/#/jobs");
    await page.clock.install();
    await page.getByRole("link", { name: "Sign in with Acme" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    const endsAt = () => page.evaluate(async () => ((await (await fetch("/session")).json()) as Body).expires_at);
    const before = await endsAt();
    idp.isDown = true;
    const renewal = `${world.server.url}/auth/default/start?mode=renew`;
    const renew = async () => (await fetch(renewal, { redirect: "manual" })).status;
    await expect.poll(renew, { timeout: 10_000 }).toBe(502);
    const tried = page.waitForResponse((response) => response.url().includes("mode=renew"));
    await page.clock.fastForward(20_000);
    expect((await tried).status()).toBe(502);
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    expect(page.url()).toBe(`${world.server.url}/#/jobs`);
    idp.isDown = false;
    const back = page.waitForRequest((request) => request.url().includes("/auth/callback"));
    await page.clock.fastForward(5_000);
    await back;
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    await expect.poll(endsAt).not.toBe(before);
  });

  /** As after signing out at the identity provider. */
  const forgetAtProvider = (page: Page): Promise<void> =>
    page.context().clearCookies({ name: /^_(session|interaction)/ });

  const renewals = (page: Page): string[] => {
    const seen: string[] = [];
    page.on("request", (request) => {
      if (request.isNavigationRequest() && request.url().includes("mode=renew")) seen.push(request.url());
    });
    return seen;
  };

  /** A page whose session ends after this time, and whose clock the test moves. */
  const openFor = async (seconds: number, place: string): Promise<Page> => {
    await world.call("PUT", "/api/sign-in", config({ renew_seconds: seconds }));
    const { page } = await world.visit(place);
    await page.clock.install();
    await page.getByRole("link", { name: "Sign in with Acme" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    return page;
  };

  it("a provider that wants to see the person is asked for a renewal once, and the page says when it ends", async () => {
    const page = await openFor(60, "/#/jobs");
    const tried = renewals(page);
    await forgetAtProvider(page);
    await page.clock.fastForward(20_000);
    const banner = page.getByText("Your identity provider asks you to sign in again.");
    await banner.waitFor();
    await page.clock.fastForward(10_000);
    await page.clock.fastForward(10_000);
    expect(tried).toHaveLength(1);
    expect(page.url()).toBe(`${world.server.url}/#/jobs`);
    await page.getByRole("link", { name: "Sign in again" }).click();
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    await banner.waitFor({ state: "detached" });
  });

  it("a renewal keeps what was typed, also where the reader has left the field, and adds no step to go back", async () => {
    const page = await openFor(60, "/#/jobs/new");
    const steps = await page.evaluate("history.length");
    await page.getByLabel("Prompt").fill("Half a prompt");
    await page.getByRole("heading", { name: "New job" }).click();
    const back = page.waitForRequest((request) => request.url().includes("/auth/callback"));
    await page.clock.fastForward(20_000);
    await back;
    await page.getByText("Live", { exact: true }).waitFor();
    expect(await page.getByLabel("Prompt").inputValue()).toBe("Half a prompt");
    expect(await page.evaluate("history.length")).toBe(steps);
  });

  it("a page that nobody sees, whose timers run once a minute, is renewed before its session ends", async () => {
    const page = await openFor(120, "/#/jobs");
    await page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true })");
    const back = page.waitForRequest((request) => request.url().includes("/auth/callback"), { timeout: 8_000 });
    await page.clock.fastForward(6_000);
    await page.clock.fastForward(54_000);
    await back;
    await page.getByText("Live", { exact: true }).waitFor();
  });

  it("a clock five minutes off renews no session before its time", async () => {
    await world.call("PUT", "/api/sign-in", config({ renew_seconds: 300 }));
    const { page } = await world.visit("/#/jobs");
    await page.clock.install({ time: Date.now() + 300_000 });
    await page.reload();
    const tried = renewals(page);
    await page.getByRole("link", { name: "Sign in with Acme" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    for (const _ of [1, 2, 3]) {
      await page.clock.fastForward(6_000);
      // As long as a renewal's first steps take.
      for (const _step of [1, 2, 3, 4]) await page.evaluate(() => fetch("/health").then((answer) => answer.text()));
    }
    expect(tried).toEqual([]);
  });

  it("another person who signs in beside it is the one that every tab shows and acts for", async () => {
    const page = await signIn("/#/jobs");
    await page.getByText("Ada Lovelace").first().waitFor();
    await forgetAtProvider(page);
    idp.next = GRACE;
    const beside = await page.context().newPage();
    await beside.goto(`${world.server.url}/auth/default/start`);
    await beside.getByText("Live", { exact: true }).waitFor();
    await page.getByText("Grace", { exact: false }).first().waitFor();
    expect(await page.getByText("Ada Lovelace").count()).toBe(0);
  });

  it("whose role was lowered elsewhere is told so at the first refusal, and is offered no more of it", async () => {
    const page = await signIn("/#/jobs");
    await page.getByRole("button", { name: "Killswitch" }).waitFor();
    idp.next = { ...ADA, groups: [] };
    await signIn("/#/jobs");
    await page.goto(`${world.server.url}/#/settings/audit`);
    await page.getByText("Your role is now viewer").waitFor();
    expect(await page.getByRole("button", { name: "Killswitch" }).count()).toBe(0);
  });

  it("signalbox login gets a personal key with one click", async () => {
    const home = mkdtempSync(path.join(tmpdir(), "signalbox-login-"));
    const env = { PATH: process.env.PATH ?? "", HOME: home, XDG_CONFIG_HOME: home };
    const args = [SIGNALBOX, "login", world.server.url, "--no-browser"];
    const child: ChildProcess = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    child.stderr?.on("data", (chunk) => {
      said += chunk;
    });
    const ended = once(child, "close");
    await expect.poll(() => said).toContain("#/grant-key");
    const address = said.match(/http\S+#\/grant-key\S+/)?.[0] ?? "";
    const page = await signIn(address.slice(world.server.url.length));
    const port = new URLSearchParams(address.split("grant-key?")[1]).get("port");
    expect((await fetch(`http://127.0.0.1:${port}/?code=x&state=another`)).status).toBe(400);
    await page.getByRole("button", { name: "Give it a key" }).click();
    await page.getByText("You are signed in on the command line.").waitFor();
    expect((await ended)[0]).toBe(0);
    expect(said).toContain('as "Ada Lovelace" (admin) of tenant default');
    const file = path.join(home, "signalbox", "config.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { key } = JSON.parse(readFileSync(file, "utf8"));
    const whoIs = await fetch(`${world.server.url}/session`, { headers: { authorization: `Bearer ${key}` } });
    expect(((await whoIs.json()) as Body).person.email).toBe("ada@acme.com");
    rmSync(home, { recursive: true });
  });
});
