// The fleet page: correct beyond two hundred workers, acts on many, shows who has not confirmed a halt.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { register } from "./acting-worker.ts";
import { lacksBrowser, startWorld, type World } from "./browser.ts";

const MANY = 230;

interface Listed {
  readonly total: number;
  readonly workers: readonly { paused: boolean; pause_reason: string | null }[];
}

describe.skipIf(lacksBrowser())("the fleet", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld(["--no-worker"]);
    for (let at = 0; at < MANY; at += 1) {
      const tags = at % 10 === 0 ? "gpu,eu" : "cpu";
      await register(world, `box-${at}`, { tags, ...(at === 3 ? { unavailable: "its runtime is away" } : {}) });
    }
  }, 120_000);
  afterAll(() => world?.close());

  it("counts and finds every worker, however many there are", async () => {
    const { page, faults } = await world.open("fleet");
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

  it("all workers with a tag are paused in four actions", async () => {
    const { page, faults } = await world.open("");
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
    const { page } = await world.open("fleet?sort=instance");
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
    const { page } = await world.open("");
    await page.getByRole("button", { name: "Killswitch" }).click();
    await page.getByLabel("Reason").fill("drill");
    await page.getByRole("button", { name: "Engage level 1" }).click();
    await page.getByRole("link", { name: `${MANY} not confirmed: ${MANY} silent` }).click();
    await page.getByText("has not confirmed the halt").first().waitFor();
    await page.getByRole("button", { name: `unconfirmed ${MANY}` }).waitFor();
    await world.call("DELETE", "/killswitch?resume_all=true");
  });
});
