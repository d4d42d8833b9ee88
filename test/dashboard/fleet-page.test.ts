// The fleet page: correct beyond two hundred workers, acts on many, shows who has not confirmed a halt.

import { describe, expect, it } from "vitest";
import { register } from "./acting-worker.ts";
import { lacksBrowser, startWorld, type World, worldForTests } from "./browser.ts";

const MANY = 230;

interface Listed {
  readonly total: number;
  readonly workers: readonly { paused: boolean; pause_reason: string | null }[];
}

describe.skipIf(lacksBrowser())("the fleet", () => {
  let world: World;
  worldForTests(
    () => startWorld({ hasWorker: false }),
    async (started) => {
      world = started;
      // They beat once, and are there as long as a busy machine takes.
      await world.call("PUT", "/config", { presence: { offline_after_seconds: 3600 } });
      for (let at = 0; at < MANY; at += 1) {
        const tags = at % 10 === 0 ? "gpu,eu" : "cpu";
        await register(world, `box-${at}`, { tags, ...(at === 3 ? { unavailable: "its runtime is away" } : {}) });
      }
    },
  );

  it("counts and finds every worker, however many there are", async () => {
    const { page, faults } = await world.show("fleet");
    await page.getByText(`${MANY} registered, ${MANY} present`).waitFor();
    await page.getByRole("button", { name: `idle ${MANY}` }).waitFor();
    await page.getByRole("button", { name: "unavailable 1" }).click();
    await page
      .getByRole("row")
      .filter({ hasText: "its runtime is away" })
      .getByText("box-3", { exact: true })
      .waitFor();
    await page.getByRole("button", { name: "unavailable 1" }).click();
    await page.getByLabel("Find by name").fill("box-0");
    await page.getByRole("link", { name: "box-0", exact: true }).waitFor();
    await page.getByText("1–1 of 1 worker").waitFor();
    expect(faults()).toEqual([]);
  });

  it("shows a cell for every worker, in a picture that says how many there are in which states", async () => {
    const { page, faults } = await world.show("fleet");
    await page.getByRole("img", { name: "acme: 230 workers: 1 unavailable, 229 idle" }).waitFor();
    await page.getByText("by tag", { exact: true }).click();
    await page.getByRole("img", { name: "eu: 23 workers: 23 idle" }).waitFor();
    await page.reload();
    const gpus = page.getByRole("img", { name: "gpu: 23 workers: 23 idle" });
    await gpus.hover({ position: { x: 8, y: 8 } });
    expect(await gpus.getAttribute("title")).toBe("box-0: idle, 0 of 1 place");
    await gpus.click({ position: { x: 8, y: 8 } });
    await page.getByRole("heading", { name: "box-0" }).waitFor();
    await page.getByRole("region", { name: "Success" }).waitFor();
    expect(faults()).toEqual([]);
  });

  it("says of an idle worker what waits, also behind more newer jobs than the page holds", async () => {
    const old = Array.from({ length: 3 }, () => ({ prompt: "old", tags: ["h100"] }));
    await world.call("POST", "/api/jobs/batch", { jobs: old });
    const jobs = Array.from({ length: 60 }, () => ({ prompt: "new", tags: ["soon-gone"] }));
    await world.call("POST", "/api/jobs/batch", { jobs });
    await world.call("POST", "/api/jobs/bulk", { action: "cancel", filter: { tag: "soon-gone" } });
    const { page, faults } = await world.open("");
    await page.goto("about:blank");
    await page.goto(`${world.server.url}/#/fleet/box-1`);
    await page.getByText("3 waiting jobs: missing tag h100").waitFor();
    // The page knows the newest alone.
    await world.call("POST", "/api/jobs", { prompt: "one more", tags: ["h100"] });
    await page.getByText("4 waiting jobs: missing tag h100").waitFor();
    await world.call("POST", "/api/jobs/bulk", { action: "cancel", filter: { tag: "h100" } });
    await page.getByText("No job waits.").waitFor();
    expect(faults()).toEqual([]);
  });

  it("says on a worker's own page why it takes nothing, and the hours that it was given", async () => {
    await world.call("PUT", "/api/workers/box-3/hours", { hours: "00:00-24:00", timezone: "Europe/Berlin" });
    const { page, faults } = await world.show("fleet/box-3");
    await page.getByText("its runtime is away", { exact: true }).waitFor();
    await page.getByText("00:00-24:00 Europe/Berlin").waitFor();
    await world.call("PUT", "/api/workers/box-3/hours", { hours: null });
    expect(faults()).toEqual([]);
  });

  it("shows the columns that were chosen, also after a reload", async () => {
    const { page } = await world.open("fleet", { viewport: { width: 1440, height: 900 } });
    const heading = (name: string) => page.getByRole("columnheader", { name, exact: true });
    await heading("Models").waitFor();
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByRole("checkbox", { name: "GPU memory" }).check();
    await page.getByRole("checkbox", { name: "Models" }).uncheck();
    await page.keyboard.press("Escape");
    expect(await page.getByRole("checkbox", { name: "GPU memory" }).count()).toBe(0);
    for (const reload of [false, true]) {
      if (reload) await page.reload();
      await heading("GPU memory").waitFor();
      expect(await heading("Models").count()).toBe(0);
    }
  });

  it("all workers with a tag are paused in four actions", async () => {
    const { page, faults } = await world.show("");
    await page.getByRole("link", { name: "Fleet", exact: true }).click();
    await page.getByText("tag", { exact: true }).click();
    await page.getByRole("button", { name: "Pause all 23 workers of tag gpu" }).click();
    await page.getByRole("button", { name: "Pause 23 workers" }).click();
    await page.getByText("23 workers paused.").waitFor();
    const { total } = await world.call<Listed>("GET", "/api/workers?state=paused&tag=gpu");
    expect(total).toBe(23);
    expect((await world.call<Listed>("GET", "/api/workers?state=paused")).total).toBe(23);
    await page.goto(`${world.server.url}/#/fleet?state=paused`);
    await page.getByRole("button", { name: "Resume all 23" }).click();
    await page.getByRole("button", { name: "Resume 23 workers" }).click();
    await page.getByText("23 workers resumed.").waitFor();
    await expect.poll(async () => (await world.call<Listed>("GET", "/api/workers?state=paused")).total).toBe(0);
    expect(faults()).toEqual([]);
  });

  it("the ticked workers alone are paused, with a reason", async () => {
    const { page } = await world.show("fleet?sort=instance");
    await page.getByLabel("Select box-1", { exact: true }).check();
    await page.getByLabel("Select box-10", { exact: true }).check();
    await page.getByRole("button", { name: "Pause 2 selected" }).click();
    await page.getByLabel("Reason").fill("new fans");
    await page.getByRole("button", { name: "Pause 2 workers" }).click();
    await page.getByText("2 workers paused.").waitFor();
    const { workers } = await world.call<Listed>("GET", "/api/workers?state=paused");
    expect(workers.map(({ pause_reason }) => pause_reason)).toEqual(["new fans", "new fans"]);
  });

  it("everything is stopped, and who has not confirmed is seen, in three actions", async () => {
    const { page } = await world.show("");
    await page.getByRole("button", { name: "Killswitch" }).click();
    await page.getByLabel("Reason").fill("drill");
    await page.getByRole("button", { name: "Engage level 1" }).click();
    // The answer names at most 200 of them.
    await page.getByRole("link", { name: `${MANY} not confirmed`, exact: true }).click();
    await page.getByText("has not confirmed the halt").first().waitFor();
    await page.getByRole("button", { name: `unconfirmed ${MANY}` }).waitFor();
    await world.call("DELETE", "/killswitch?resume_all=true");
  });

  it("long names and tags push no control off a desk's screen, and the whole name is in the title", async () => {
    const instance = `worker-of-the-night-shift-0001.gpu.${"cluster.".repeat(8)}internal`;
    const tags = Array.from({ length: 12 }, (_, at) => `a-tag-with-a-rather-long-name-${at}`).join(",");
    await world.call("POST", "/presence", { instance, provider: "a-provider-with-a-long-name", tags, concurrency: 8 });
    const { page, faults } = await world.open(`fleet?find=${instance.slice(0, 40)}`, {
      viewport: { width: 1440, height: 900 },
    });
    const pause = await page.getByRole("button", { name: `Pause ${instance}` }).boundingBox();
    expect((pause?.x ?? 0) + (pause?.width ?? 0)).toBeLessThan(1440);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(1440);
    const box = page.locator(".table-box");
    expect(await box.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0);
    expect(await page.getByRole("link", { name: instance }).getAttribute("title")).toBe(instance);
    await page.setViewportSize({ width: 820, height: 900 });
    await page.getByText(/^Not shown at this width: Provider, /).waitFor();
    await page.goto(`${world.server.url}/#/explain?provider=a-provider-with-a-long-name`);
    const provider = page.locator(".scores").getByText("a-provider-with-a-long-name");
    await provider.waitFor();
    expect((await provider.boundingBox())?.width).toBeGreaterThan(70);
    expect(faults()).toEqual([]);
  });

  it("writes no state over a worker's name on a phone", async () => {
    // The other tests may have taken longer than a worker counts as present.
    await register(world, "box-3", { tags: "cpu", unavailable: "its runtime is away" });
    const { page, faults } = await world.open("fleet?state=unavailable", { viewport: { width: 390, height: 844 } });
    await page.getByRole("link", { name: "box-3", exact: true }).waitFor();
    const cell = page.locator(".fleet-table td.cell-status").first();
    expect(await cell.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0);
    const [name, table] = await Promise.all([
      page.locator(".fleet-table td.cell-main").first().boundingBox(),
      page.locator(".fleet-table").boundingBox(),
    ]);
    expect((name?.width ?? 0) / (table?.width ?? 1)).toBeGreaterThan(0.35);
    expect(faults()).toEqual([]);
  });

  it("cuts no action of a worker that is offline and paused", async () => {
    const { page, faults } = await world.open("", { viewport: { width: 1440, height: 900 } });
    await page.route("**/api/workers?*", async (route) => {
      const answer = await route.fetch();
      const { workers, ...rest } = await answer.json();
      const gone = workers.map((one: object) => ({ ...one, status: "offline", paused: true, pause_reason: "its fan" }));
      await route.fulfill({ response: answer, json: { ...rest, workers: gone } });
    });
    await page.goto(`${world.server.url}/#/fleet?find=box-7`);
    const forget = page.getByRole("button", { name: /^Forget box-7/ }).first();
    await forget.waitFor();
    const edge = await page.locator(".table-box").boundingBox();
    const button = await forget.boundingBox();
    expect((button?.x ?? 0) + (button?.width ?? 0)).toBeLessThan((edge?.x ?? 0) + (edge?.width ?? 0));
    // An offline worker that is resumed takes nothing yet.
    await page
      .getByRole("button", { name: /^Resume box-7/ })
      .first()
      .click();
    await page
      .getByRole("status")
      .getByText(/is resumed, and takes jobs when it is online again\.$/)
      .waitFor();
    expect(faults()).toEqual([]);
  });

  it("has a chip for workers that are online with places left", async () => {
    await world.call("POST", "/presence", { instance: "half-full", provider: "acme", concurrency: 2 });
    await world.call("POST", "/dispatch", { prompt: "x", provider: "acme" });
    const { page } = await world.show("fleet");
    await page.getByRole("button", { name: /^online [1-9]/ }).click();
    await page.getByRole("link", { name: "half-full" }).waitFor();
    await expect.poll(() => page.getByRole("table", { name: "Workers" }).locator("tbody tr").count()).toBe(1);
  });

  it("equal workers are compared by ten bars, and those refused for one reason are one line", async () => {
    for (let at = 0; at < 14; at += 1)
      await world.call("POST", "/presence", { instance: `equal-${at}`, provider: "equals", concurrency: 4 });
    const { page, faults } = await world.show("explain?provider=equals");
    await page.getByRole("button", { name: "Show 4 more workers that would come later" }).waitFor();
    await expect.poll(() => page.locator(".scores li").count()).toBe(10);
    await page.goto(`${world.server.url}/#/explain?provider=equals&tags=never`);
    const line = page.locator(".refusals li").filter({ hasText: "14 workers" });
    await line.getByText("14 workers").click();
    await line.getByRole("link", { name: "equal-13" }).waitFor();
    await page.getByText("Each of these: missing tag never").waitFor();
    expect(await page.locator(".refusals").textContent()).not.toContain("missing tag never");
    expect(faults()).toEqual([]);
  });
});
