// One browser, several tabs, and one user after another.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lacksBrowser, startWorld, type World } from "./browser.ts";

describe.skipIf(lacksBrowser())("a browser with several tabs", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({ hasWorker: false });
  }, 90_000);
  afterAll(() => world?.close());

  const keyOf = async (name: string, role: string): Promise<string> =>
    (await world.call<{ key: string }>("POST", "/api/keys", { name, role })).key;
  const anotherTab = async (page: Page): Promise<Page> => {
    const other = await page.context().newPage();
    await other.goto(`${world.server.url}/#/fleet`);
    await other.getByText("Live", { exact: true }).waitFor();
    return other;
  };
  const whoIn = (page: Page): Promise<string> => page.locator(".tenant").innerText();

  it("signs out in all of them, and says where it happened", async () => {
    const { page } = await world.open("");
    const other = await anotherTab(page);
    await page.getByRole("button", { name: "Sign out" }).click();
    await other.getByText("You signed out in another tab.").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  it("signs in in all of them, also with another key", async () => {
    const { page } = await world.open("");
    const other = await anotherTab(page);
    await page.getByRole("button", { name: "Sign out" }).click();
    await other.getByLabel("Key").waitFor();
    await page.getByLabel("Key").fill(await keyOf("second shift", "standard"));
    await page.getByRole("button", { name: "Sign in" }).click();
    await other.getByRole("heading", { name: "Fleet" }).waitFor();
    expect(await whoIn(other)).toContain("second shift");
    await page.goto(`${world.server.url}/#key=${await keyOf("third shift", "standard")}`);
    await page.getByRole("button", { name: "Sign out and use the other key" }).click();
    await expect.poll(() => whoIn(other)).toContain("third shift");
  });

  it("says that it is still signed in when the coordinator could not end the session", async () => {
    const { page } = await world.open("");
    await page.route("**/session", (route) => route.abort());
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText(/^You are still signed in: /).waitFor();
    await page.unroute("**/session");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Key").waitFor();
  });

  it("shows the next user nothing that the one before typed", async () => {
    const { page } = await world.open("settings");
    const editor = page.getByLabel("Config as YAML");
    const before = await editor.inputValue();
    await editor.fill(`${before}# mine\n`);
    await page.goto(`${world.server.url}/#key=${await keyOf("next admin", "admin")}`);
    await page.getByRole("button", { name: "Sign out and use the other key" }).click();
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Settings", exact: true }).click();
    await editor.waitFor();
    expect(await editor.inputValue()).toBe(before);
  });

  it("offers nobody a page that the key may not see", async () => {
    const { page } = await world.visit(`/#key=${await keyOf("operator", "standard")}`);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.goto(`${world.server.url}/#/fleet`);
    await page.getByText("No worker has reported yet.").waitFor();
    expect(await page.getByRole("link", { name: "Add a worker" }).count()).toBe(0);
    expect(await page.locator("main").getByRole("link", { name: "Settings" }).count()).toBe(0);
    await page.keyboard.press("Control+k");
    await page.getByLabel("Page, worker, job id").fill("add a");
    await page.getByRole("option", { name: "Jobs with" }).waitFor();
    expect(await page.getByRole("option", { name: "Add a worker" }).count()).toBe(0);
  });

  it("takes a name of two words in the fields of a list, and follows a link that clears them", async () => {
    const { page } = await world.open("settings/audit");
    await page.getByLabel("Who").pressSequentially("night shift");
    expect(await page.getByLabel("Who").inputValue()).toBe("night shift");
    await page.getByRole("link", { name: "Fleet", exact: true }).click();
    await page.getByLabel("Find by name").fill("box");
    await page.getByText("No worker matches.").waitFor();
    await page.getByRole("link", { name: "Fleet", exact: true }).click();
    await page.getByText("No worker has reported yet.").waitFor();
    expect(await page.getByLabel("Find by name").inputValue()).toBe("");
  });
});
