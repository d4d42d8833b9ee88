// A viewer sees everything that its role may read, and no control that would be refused.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lacksBrowser, startWorld, type World } from "./browser.ts";

/** Controls that change something; others only change what this browser shows. */
const CHANGES =
  /^(New |Create|Edit|Retry|Cancel( …)?$|Pause|Resume|Forget|Delete|Run now|Review|Undo|Killswitch|Change level|Clear|Select|Add )/;

const controlsOf = async (page: Page): Promise<string[]> => {
  const shown = page.locator("button:visible, input[type=checkbox]:visible, main a:visible");
  const names = await shown.evaluateAll((all) =>
    all.map((one) => (one.getAttribute("aria-label") ?? one.textContent ?? "").trim()),
  );
  return names.filter((name) => CHANGES.test(name));
};

describe.skipIf(lacksBrowser())("a viewer", () => {
  let world: World;
  let key = "";
  const places: string[] = [];
  beforeAll(async () => {
    world = await startWorld();
    await world.untilWorker();
    const { call } = world;
    key = (await call<{ key: string }>("POST", "/api/keys", { name: "wall", role: "viewer" })).key;
    const { id: done } = await call<{ id: string }>("POST", "/api/jobs", { prompt: "Done at once" });
    const { id: waiting } = await call<{ id: string }>("POST", "/api/jobs", { prompt: "Waits", tags: ["h100"] });
    await call("POST", "/api/schedules", { name: "sweep", interval: "1h", prompt: "Sweep" });
    const jobs = [`jobs/${done}`, `jobs/${waiting}`, "jobs", "jobs?tag=nothing"];
    const fleet = ["fleet", "fleet?group=provider", "fleet/local-worker"];
    places.push("", ...jobs, ...fleet, "schedules", "schedules/sweep", "explain", "cost", "settings");
  }, 90_000);
  afterAll(() => world?.close());

  const enter = async (as = key): Promise<Page> => {
    const { page } = await world.visit(`/#key=${as}`);
    await page.getByText("Live", { exact: true }).waitFor();
    return page;
  };

  it("opens every page that it may read, with nothing refused and nothing to press", async () => {
    const page = await enter();
    const refused: string[] = [];
    page.on("response", (response) => {
      if (response.status() === 403) refused.push(response.url());
    });
    const found: Record<string, string[]> = {};
    for (const place of places) {
      await page.goto(`${world.server.url}/#/${place}`);
      await page.locator("main h1").waitFor();
      await expect.poll(() => page.locator(".loading").count()).toBe(0);
      const controls = await controlsOf(page);
      if (controls.length > 0) found[place] = controls;
      expect(await page.getByRole("heading", { name: "No such page" }).count()).toBe(0);
    }
    expect(found).toEqual({});
    expect(refused).toEqual([]);
  }, 60_000);

  it("lacks what an admin finds on the same pages", async () => {
    const page = await enter(world.server.adminKey);
    for (const place of ["jobs", "fleet", "schedules/sweep"]) {
      await page.goto(`${world.server.url}/#/${place}`);
      await expect.poll(async () => (await controlsOf(page)).length).toBeGreaterThan(2);
    }
  });

  it("finds no page that only makes or changes something", async () => {
    const page = await enter();
    for (const place of ["jobs/new", "playground", "schedules/~new", "schedules/sweep/edit", "catalog", "fleet/~add"]) {
      await page.goto(`${world.server.url}/#/${place}`);
      await page.getByText("your key's role may not see it").waitFor();
    }
    expect(await page.getByRole("link", { name: "Playground" }).count()).toBe(0);
  });

  it("sees that the line is stopped, without a control to start it again", async () => {
    const page = await enter();
    await world.call("POST", "/killswitch", { level: 2, reason: "drill" });
    await page.getByText("Line stopped: level 2").waitFor();
    expect(await controlsOf(page)).toEqual([]);
    await world.call("DELETE", "/killswitch?resume_all=true");
  });

  it("is offered no action by the palette", async () => {
    const page = await enter();
    await page.keyboard.press("Control+k");
    await page.getByLabel("Page, worker, job id").fill("local");
    await page.getByRole("option", { name: "local-worker" }).first().waitFor();
    expect(await page.getByRole("option", { name: /Pause|Killswitch|New job/ }).count()).toBe(0);
  });
});
