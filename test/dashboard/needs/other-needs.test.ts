// Readers who hear the page.

import { describe, expect, it } from "vitest";
import { type ActingWorker, register } from "../acting-worker.ts";
import { lacksBrowser, startWorld, type World, worldForTests } from "../browser.ts";

describe.skipIf(lacksBrowser())("who hears the page", () => {
  let world: World;
  let worker: ActingWorker;
  worldForTests(
    () => startWorld({ hasWorker: false }),
    async (started) => {
      world = started;
      worker = await register(world, "box-1", { concurrency: 5 });
    },
  );

  const create = async (job: Record<string, unknown>): Promise<string> =>
    (await world.call<{ id: string }>("POST", "/api/jobs", job)).id;

  it("reads the sign-in page's name in the browser's tab when a session has ended", async () => {
    const { page } = await world.open("settings/audit");
    await page.getByRole("link", { name: "Audit log" }).waitFor();
    expect(await page.title()).toBe("Audit log · Settings · Signalbox");
    await page.getByRole("button", { name: "Sign out" }).first().click();
    await expect.poll(() => page.title()).toBe("Sign in · Signalbox");
  });
});
