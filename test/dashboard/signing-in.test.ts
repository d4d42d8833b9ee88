// Signing in and out, and what each role sees.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lacksBrowser, startWorld, type World } from "./browser.ts";

describe.skipIf(lacksBrowser())("signing in", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
  }, 90_000);
  afterAll(() => world?.close());

  it("takes a typed key, stores it nowhere, and keeps the session", async () => {
    const { page, faults } = await world.visit("/");
    await page.getByLabel("Key").fill(world.server.adminKey);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const kept = await page.evaluate(
      () => JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }) + document.cookie,
    );
    expect(kept).not.toContain(world.server.adminKey);
    await page.reload();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(faults()).toEqual([]);
  });

  it("says where the first key is, on a server and in a deployment", async () => {
    const { page } = await world.visit("/");
    await page
      .getByText("in a server's data folder; on Cloudflare it is in the answer of POST /admin/tenants.")
      .waitFor();
  });

  it("takes the key from the printed address and removes it from the address at once", async () => {
    const { page, faults } = await world.visit(`/#key=${world.server.adminKey}`);
    await page.getByText("Live", { exact: true }).waitFor();
    expect(page.url()).not.toContain("key=");
    expect(await page.evaluate(() => history.length)).toBeLessThanOrEqual(2);
    // Opened again, it is no other key.
    await page.goto("about:blank");
    await page.goto(`${world.server.url}/#key=${world.server.adminKey}`);
    await page.getByText("Live", { exact: true }).waitFor();
    expect(page.url()).not.toContain("key=");
    expect(faults()).toEqual([]);
  });

  it("asks before a key from a link replaces the session", async () => {
    const { key } = await world.call<{ key: string }>("POST", "/api/keys", { name: "another", role: "standard" });
    const { page, faults } = await world.open("");
    const offer = `${world.server.url}/#key=${key}`;
    const whoIs = () => page.evaluate(async () => (await (await fetch("/session")).json()).name);
    const before = await whoIs();
    await page.goto(offer);
    await page.getByText("This link contains another key").waitFor();
    expect(page.url()).not.toContain("key=");
    await page.getByRole("button", { name: "Stay signed in" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(await whoIs()).toBe(before);
    await page.goto(offer);
    await page.getByRole("button", { name: "Sign out and use the other key" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await expect.poll(whoIs).toBe("another");
    expect(faults()).toEqual([]);
  });

  it("says why a wrong key is refused, in words for who typed it", async () => {
    const { page } = await world.visit("/");
    await page.getByLabel("Key").fill("not a key");
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect.poll(() => page.getByRole("alert").textContent()).toMatch(/This is no key of this service/);
    expect(await page.getByRole("alert").textContent()).not.toContain("Bearer");
  });

  it("says that it needs a cookie where the browser keeps none", async () => {
    const { page } = await world.visit("/");
    await page.evaluate(() => Object.defineProperty(navigator, "cookieEnabled", { value: false }));
    await page.getByLabel("Key").fill(world.server.adminKey);
    page.on("response", () => page.context().clearCookies());
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("This browser blocks cookies.").waitFor();
  });

  it("is restored, and an address with a key asks, also when the browser has forgotten that it is signed in", async () => {
    const { key } = await world.call<{ key: string }>("POST", "/api/keys", { name: "other", role: "standard" });
    const { page } = await world.open("");
    await page.evaluate(() => localStorage.clear());
    await page.reload();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    // Now it remembers, as after signing in with an identity of the organisation.
    expect(await page.evaluate(() => localStorage.getItem("signalbox.signed-in"))).toMatch(/^\d+ \S+$/);
    await page.evaluate(() => localStorage.clear());
    await page.goto("about:blank");
    await page.goto(`${world.server.url}/#key=${key}`);
    await page.getByText("This link contains another key").waitFor();
  });

  it("stays signed out after signing out", async () => {
    const { page } = await world.open("");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Key").waitFor();
    expect(await page.evaluate(async () => (await fetch("/session")).status)).toBe(401);
  });

  it("offers a standard key no catalog, no keys and no audit log, and the config to read only", async () => {
    const { key } = await world.call<{ key: string }>("POST", "/api/keys", { name: "operator", role: "standard" });
    const { page } = await world.visit(`/#key=${key}`);
    await page.getByRole("link", { name: "Jobs" }).waitFor();
    expect(await page.getByRole("link", { name: "Catalog" }).count()).toBe(0);
    await page.goto(`${world.server.url}/#/settings`);
    await page.getByText("Changing the config needs a key with role admin.").waitFor();
    expect(await page.getByRole("link", { name: "Keys" }).count()).toBe(0);
    expect(await page.getByLabel("Config as YAML").getAttribute("readonly")).not.toBeNull();
  });

  it("tells the holder of a worker's key that it cannot open the dashboard", async () => {
    const { key } = await world.call<{ key: string }>("POST", "/api/keys", { name: "a worker", role: "worker" });
    const { page } = await world.visit(`/#key=${key}`);
    await page.getByText("it runs jobs, but cannot open the dashboard").waitFor();
  });

  it("ends when its key is revoked, and says so", async () => {
    const { id, key } = await world.call<{ id: string; key: string }>("POST", "/api/keys", {
      name: "short",
      role: "standard",
    });
    const { page } = await world.visit(`/#key=${key}`);
    await page.getByText("Live", { exact: true }).waitFor();
    await world.call("DELETE", `/api/keys/${id}`);
    await page.getByText("Your session has ended").waitFor();
  });

  it("offers all ways once the service is back that was away when the page was opened", async () => {
    const { page } = await world.visit("/");
    await page.getByLabel("Key", { exact: true }).waitFor();
    let isAway = true;
    await page.route("**/session", (route) => (isAway ? route.abort() : route.continue()));
    const offer = { tenant: "default", oidc: { name: "Acme" }, jwt_header: false, keys_sign_in: true };
    await page.route("**/auth/default", (route) => (isAway ? route.abort() : route.fulfill({ json: offer })));
    await page.reload();
    const says = page.getByRole("alert");
    await says.waitFor();
    isAway = false;
    await page.getByRole("link", { name: "Sign in with Acme" }).waitFor();
    await expect.poll(() => says.count()).toBe(0);
  });

  it("of a person is renewed, also where the service was away when that was due", async () => {
    const { page } = await world.open("");
    const person = { id: "person_ada", name: "Ada" };
    const expires_at = new Date(Date.now() + 40_000).toISOString();
    let asked = 0;
    await page.route("**/session", (route) => {
      asked += 1;
      if (asked === 2) return route.abort();
      return route.fulfill({
        json: { tenant: "default", role: "admin", name: "Ada", key_id: null, person, expires_at },
      });
    });
    await page.clock.install();
    await page.reload();
    await page.getByText("Live", { exact: true }).waitFor();
    const renewal = page.waitForRequest(/\/auth\/default\/start\?.*mode=renew/);
    await page.clock.fastForward(5_000);
    await expect.poll(() => asked).toBe(2);
    await page.clock.fastForward(5_000);
    await renewal;
  });

  describe("a session that ends in the middle of a form", () => {
    interface MadeKey {
      readonly id: string;
      readonly key: string;
    }

    const makeKey = (name: string): Promise<MadeKey> =>
      world.call<MadeKey>("POST", "/api/keys", { name, role: "admin" });

    const typeIntoForms = async (page: Page): Promise<void> => {
      await page.goto(`${world.server.url}/#/settings`);
      const config = page.getByLabel("Config as YAML");
      await config.fill(`${await config.inputValue()}\n# half done`);
      await page.goto(`${world.server.url}/#/jobs/new`);
      await page.getByLabel("Prompt").fill("A long thought");
      await page.getByLabel("Tags").fill("gpu");
    };

    /** Types into the page, then ends its session; returns what signs the same user in again. */
    const interrupted = async (name: string, type = typeIntoForms) => {
      const { id, key } = await makeKey(name);
      const { page, faults } = await world.visit(`/#key=${key}`);
      await page.getByText("Live", { exact: true }).waitFor();
      await type(page);
      const next = await world.call<MadeKey>("POST", `/api/keys/${id}/rotate`, {});
      await page.getByText("Your session has ended").waitFor();
      return { page, faults, key: next.key };
    };

    it("loses nothing that was typed, for the same user", async () => {
      const { page, faults, key } = await interrupted("same");
      await page.getByLabel("Key").fill(key);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "New job" }).waitFor();
      expect(await page.getByLabel("Prompt").inputValue()).toBe("A long thought");
      expect(await page.getByLabel("Tags").inputValue()).toBe("gpu");
      await page.goto(`${world.server.url}/#/settings`);
      await expect.poll(() => page.getByLabel("Config as YAML").inputValue()).toContain("# half done");
      expect(await page.evaluate(() => sessionStorage.getItem("signalbox.form-drafts"))).not.toContain("thought");
      expect(faults()).toEqual([]);
    });

    it("changes only what was typed: what somebody else saves until the form is back stays", async () => {
      const name = "interrupted";
      await world.call("POST", "/api/schedules", { name, interval: "1h", prompt: "as it was", tags: ["cpu"] });
      const { page, key } = await interrupted("beside", async (typed) => {
        await typed.goto(`${world.server.url}/#/schedules/${name}/edit`);
        await typed.getByLabel("Prompt").fill("typed");
      });
      await world.call("PUT", `/api/schedules/${name}`, { tags: ["gpu"] });
      await page.getByLabel("Key").fill(key);
      await page.getByRole("button", { name: "Sign in" }).click();
      await expect.poll(() => page.getByLabel("Prompt").inputValue()).toBe("typed");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText(`${name} is saved.`).waitFor();
      const { prompt, tags } = await world.call<{ prompt: string; tags: string[] }>("GET", `/api/schedules/${name}`);
      expect([prompt, tags]).toEqual(["typed", ["gpu"]]);
    });

    it("loses no choice that was made in a dialog", async () => {
      const { id, key } = await makeKey("chooses");
      const { page } = await world.visit(`/#key=${key}`);
      await page.getByText("Live", { exact: true }).waitFor();
      await page.goto(`${world.server.url}/#/settings/keys`);
      await page.getByRole("button", { name: "New key" }).click();
      await page.getByRole("radio", { name: "viewer" }).check({ force: true });
      const next = await world.call<MadeKey>("POST", `/api/keys/${id}/rotate`, {});
      await page.getByText("Your session has ended").waitFor();
      await page.getByLabel("Key").fill(next.key);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("button", { name: "New key" }).click();
      expect(await page.getByRole("radio", { name: "viewer" }).isChecked()).toBe(true);
    });

    it("loses nothing that was typed in a dialog", async () => {
      const { id, key } = await makeKey("in a dialog");
      const { page, faults } = await world.visit(`/#key=${key}`);
      await page.getByText("Live", { exact: true }).waitFor();
      await page.goto(`${world.server.url}/#/settings/webhooks`);
      await page.getByRole("button", { name: "New webhook" }).click();
      await page.getByLabel("Address").fill("https://example.com/a-long-address");
      const next = await world.call<MadeKey>("POST", `/api/keys/${id}/rotate`, {});
      await page.getByText("Your session has ended").waitFor();
      await page.getByLabel("Key").fill(next.key);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("button", { name: "New webhook" }).click();
      expect(await page.getByLabel("Address").inputValue()).toBe("https://example.com/a-long-address");
      await page.getByRole("button", { name: "Not now" }).click();
      await page.getByRole("button", { name: "New webhook" }).click();
      expect(await page.getByLabel("Address").inputValue()).toBe("");
      expect(faults()).toEqual([]);
    });

    it("shows and leaves nothing to another user, whose key may have the same name", async () => {
      const { page } = await interrupted("same");
      const other = await makeKey("same");
      await page.getByLabel("Key").fill(other.key);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "New job" }).waitFor();
      expect(await page.getByLabel("Prompt").inputValue()).toBe("");
      expect(await page.evaluate(() => sessionStorage.getItem("signalbox.form-drafts"))).toBeNull();
      await page.goto(`${world.server.url}/#/settings`);
      await page.getByText("As saved.").waitFor();
    });

    it("keeps nothing of who signs out, of an earlier session either", async () => {
      const { page, key } = await interrupted("leaver");
      await page.getByLabel("Key").fill(key);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "New job" }).waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("Key").waitFor();
      expect(await page.evaluate(() => sessionStorage.getItem("signalbox.form-drafts"))).toBeNull();
    });
  });
});
