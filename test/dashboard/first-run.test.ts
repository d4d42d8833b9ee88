// The first steps on the Overview: each ticks itself without a reload, and the list is gone when all are done.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { register } from "./acting-worker.ts";
import { lacksBrowser, startWorld, type World } from "./browser.ts";

describe.skipIf(lacksBrowser())("the first steps", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
    await world.untilWorker();
  }, 90_000);
  afterAll(() => world?.close());

  const panel = (page: Page) => page.locator(".panel", { has: page.getByRole("heading", { name: "First steps" }) });
  const open = (page: Page): Promise<string[]> => panel(page).getByRole("link").allTextContents();

  it("are seen by an admin alone, and a dismissed list stays away", async () => {
    const { key } = await world.call<{ key: string }>("POST", "/api/keys", { name: "looks", role: "viewer" });
    const viewer = await world.visit(`/#key=${key}`);
    await viewer.page.getByText("Live", { exact: true }).waitFor();
    const { keys } = await world.call<{ keys: { id: string; name: string }[] }>("GET", "/api/keys");
    await world.call("DELETE", `/api/keys/${keys.find(({ name }) => name === "looks")?.id}`);
    const { page } = await world.open("");
    await panel(page).waitFor();
    expect(await panel(viewer.page).count()).toBe(0);
    await panel(page).getByRole("button", { name: "Dismiss" }).click();
    await expect.poll(() => panel(page).count()).toBe(0);
    await page.reload();
    await page.getByText("Live", { exact: true }).waitFor();
    await page.waitForTimeout(1000);
    expect(await panel(page).count()).toBe(0);
  });

  it("ask for a client's jobs until they are answered: of later ones the socket tells", async () => {
    const { page } = await world.visit("/");
    await page.clock.install();
    await page.route("**/api/jobs?*", (route) => route.fulfill({ status: 500 }), { times: 1 });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${world.server.url}/#key=${world.server.adminKey}`);
    const untilAsked = (times: number) =>
      expect.poll(() => asked.filter((path) => path === "/api/people").length).toBe(times);
    await untilAsked(1);
    for (const round of [2, 3]) {
      const answered = ["/config", "/api/people", "/api/keys"].map((path) => page.waitForResponse(`**${path}`));
      await page.clock.fastForward(10_000);
      await untilAsked(round);
      await Promise.all(answered);
      // Its answer comes behind those.
      await page.evaluate(() => fetch("/health").then(({ status }) => status));
    }
    expect(asked.filter((path) => path === "/api/jobs")).toHaveLength(2);
  });

  it("tick themselves one by one, and go when all are done", async () => {
    const { page, faults } = await world.open("");
    await panel(page).waitFor();
    const all = ["Connect a runtime", "Run a job", "Point a client at it", "Set a budget", "Add a person"];
    await expect.poll(() => open(page)).toEqual(all);
    const [, ...later] = all;
    await register(world, "box-1", { provider: "acme" });
    await expect.poll(() => open(page)).toEqual(later);
    await world.call("POST", "/dispatch", { prompt: "hello", provider: "echo" });
    await expect.poll(() => open(page)).toEqual(all.slice(2));
    await panel(page).getByText("2 of 5 done").waitFor();
    const messages = [{ role: "user", content: "hello" }];
    await world.call("POST", "/v1/chat/completions", { model: "echo", messages });
    await expect.poll(() => open(page)).toEqual(all.slice(3));
    await world.call("PUT", "/config", { budget: { day_usd: 5 } });
    await expect.poll(() => open(page)).toEqual(["Add a person"]);
    await page.reload();
    await panel(page).getByText("4 of 5 done").waitFor();
    await world.call("POST", "/api/keys", { name: "Ada", role: "standard" });
    await expect.poll(() => panel(page).count()).toBe(0);
    expect(faults()).toEqual([]);
  }, 90_000);
});
