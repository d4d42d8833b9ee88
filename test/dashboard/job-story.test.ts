// A job's page as a story: the answer first, the waterfall and its zoom, the next and the previous job of the list that
// it was opened in, its trace.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ActingWorker, register } from "./acting-worker.ts";
import { lacksBrowser, startWorld, type World } from "./browser.ts";

interface Made {
  readonly id: string;
  readonly traceparent: string;
}

describe.skipIf(lacksBrowser())("a job's story", () => {
  let world: World;
  let worker: ActingWorker;
  beforeAll(async () => {
    world = await startWorld({ hasWorker: false });
    worker = await register(world, "box-1");
  }, 90_000);
  afterAll(() => world?.close());

  const done = async (prompt: string, result: unknown, metadata = {}): Promise<Made> => {
    const made = await world.call<Made>("POST", "/api/jobs", { prompt, provider: "acme", metadata });
    await worker.complete(made.id, result);
    return made;
  };

  it("begins with the answer, as it reads", async () => {
    const { id } = await done(
      "Begin",
      "It is **done**\n\n| part | price |\n|:--|--:|\n| switch | `204` |\n| a \\| b |",
    );
    const { page, faults } = await world.show(`jobs/${id}`);
    const result = page.getByRole("region", { name: "Result" });
    await result.locator("strong", { hasText: "done" }).waitFor();
    await expect.poll(() => result.getByRole("columnheader").allTextContents()).toEqual(["part", "price"]);
    await expect.poll(() => result.getByRole("cell").allTextContents()).toEqual(["switch", "204", "a | b"]);
    const headings = await page.locator(".panel h2").allTextContents();
    expect(headings[0]).toBe("Result");
    expect(faults()).toEqual([]);
  });

  it("does not say that a job failed whose answer is not kept", async () => {
    const { id } = await done("Silent", null);
    const { page } = await world.show(`jobs/${id}`);
    await page.getByText("None was kept.").waitFor();
  });

  it("shows the newest events of a job that was retried again and again, and earlier ones when asked", async () => {
    const { id } = await done("Many", "done");
    const at = "2026-11-20T10:00:00.000Z";
    const events = Array.from({ length: 450 }, (_, place) => ({
      type: "job.retried",
      at,
      worker: null,
      detail: { place },
    }));
    const { page } = await world.show("");
    await page.route(`**/api/jobs/${id}/events`, (route) => route.fulfill({ json: { events } }));
    await page.goto(`${world.server.url}/#/jobs/${id}`);
    const shown = page.locator(".timeline > li");
    await page.getByText("250 earlier events").waitFor();
    await expect.poll(() => shown.count()).toBe(200);
    expect(await shown.last().textContent()).toContain("place: 449");
    await page.getByRole("button", { name: "Show earlier" }).click();
    await page.getByText("50 earlier events").waitFor();
    await page.getByRole("button", { name: "Show earlier" }).click();
    await expect.poll(() => shown.count()).toBe(450);
    expect(await page.getByRole("button", { name: "Show earlier" }).count()).toBe(0);
  });

  it("shows each attempt's phases in a waterfall, with the back-off between two, and zooms into it", async () => {
    const { id } = await world.call<Made>("POST", "/api/jobs", { prompt: "Twice", provider: "acme", max_attempts: 3 });
    await worker.fail(id, { code: "runtime_error", message: "the runtime broke off", retryable: true });
    await worker.complete(id, "done", { first_token_ms: 3 });
    const { page, faults } = await world.show(`jobs/${id}`);
    const attempts = page.getByRole("region", { name: "Attempts" });
    const second = attempts.locator(".attempt").nth(1);
    await second.getByText("Back-off").waitFor();
    const rows = await attempts.locator(".attempt").first().locator(".fall-name").allTextContents();
    expect(rows).toEqual(["Queue", "Assigned", "Run"]);
    const widthOf = async (): Promise<number> =>
      Number(
        await second
          .locator(".phase-backoff")
          .getAttribute("width", { timeout: 1000 })
          .catch(() => "0"),
      );
    const before = await widthOf();
    expect(before).toBeGreaterThan(300);
    const placeOf = (name: string, ofRoot: string): Promise<number[]> =>
      attempts
        .locator(name)
        .first()
        .evaluate((part, size) => {
          document.documentElement.style.fontSize = size;
          const { left, right } = part.getBoundingClientRect();
          return [left, right].map(Math.round);
        }, ofRoot);
    for (const size of ["24px", "16px"])
      expect(await placeOf(".fall-axis", size)).toEqual(await placeOf(".fall-bar", size));
    await attempts.getByRole("button", { name: "Zoom" }).click();
    await expect.poll(widthOf).toBeLessThan(before);
    await expect.poll(() => attempts.locator(".attempt").first().locator(".fall-away").count()).toBe(3);
    await attempts.getByRole("button", { name: "Earlier" }).waitFor();
    await attempts.getByRole("button", { name: "Whole" }).click();
    await expect.poll(widthOf).toBe(before);
    expect(await attempts.getByRole("button", { name: "Earlier" }).count()).toBe(0);
    expect(faults()).toEqual([]);
  });

  it("leads to the next and the previous job of the list, by link and by key, and back to the list as it was", async () => {
    for (const name of ["Third", "Second", "First"]) await done(`${name} of the list`, "done", { of: "row" });
    const { page, faults } = await world.show("jobs?metadata.of=row");
    await page.getByRole("link", { name: "Second of the list" }).click();
    await page.getByText("2 of 3").waitFor();
    await page.getByRole("link", { name: "Next" }).click();
    await page.getByRole("heading", { name: "Third of the list" }).waitFor();
    expect(await page.getByRole("button", { name: "Next" }).isDisabled()).toBe(true);
    await page.getByRole("link", { name: "Previous" }).click();
    await page.getByRole("heading", { name: "Second of the list" }).waitFor();
    await page.keyboard.press("k");
    await page.getByRole("heading", { name: "First of the list" }).waitFor();
    await page.reload();
    await page.getByText("1 of 3").waitFor();
    await page.locator(".back").click();
    await expect.poll(() => page.url()).toContain("metadata.of=row");
    expect(faults()).toEqual([]);
  });

  it("has the jobs of the list's other pages before and behind it", async () => {
    const jobs = Array.from({ length: 104 }, (_, at) => ({
      prompt: `Line ${at}`,
      tags: ["none"],
      metadata: { of: "many" },
    }));
    await world.call("POST", "/api/jobs/batch", { jobs });
    const newest = (await world.call<{ jobs: { prompt: string }[] }>("GET", "/api/jobs?metadata.of=many&limit=104"))
      .jobs;
    const { page, faults } = await world.show("jobs?metadata.of=many&offset=50");
    const isAt = async (at: number): Promise<void> => {
      await page.getByRole("heading", { name: newest[at - 1]?.prompt ?? "", exact: true }).waitFor();
      await page.getByText(`${at} of 104`).waitFor();
    };
    await page.getByRole("link", { name: newest[50]?.prompt ?? "", exact: true }).click();
    await isAt(51);
    await page.getByRole("button", { name: "Previous" }).click();
    await isAt(50);
    await page.getByRole("link", { name: "Previous" }).click();
    await isAt(49);
    await page.goto(`${world.server.url}/#/jobs?metadata.of=many&offset=50`);
    await page.getByRole("link", { name: newest[99]?.prompt ?? "", exact: true }).click();
    await isAt(100);
    await page.keyboard.press("j");
    await isAt(101);
    await page.reload();
    await isAt(101);
    for (const at of [102, 103, 104]) {
      await page.getByRole("link", { name: "Next" }).click();
      await isAt(at);
    }
    expect(await page.getByRole("button", { name: "Next" }).isDisabled()).toBe(true);
    expect(faults()).toEqual([]);
  });

  it("is not in a list when it was opened by its address", async () => {
    const { id } = await done("Alone", "done");
    const { page } = await world.open(`jobs/${id}`);
    await page.getByRole("heading", { name: "Alone" }).waitFor();
    expect(await page.getByRole("link", { name: "Next" }).count()).toBe(0);
  });

  it("has its trace's id, to copy", async () => {
    const { id, traceparent } = await done("Trace", "done");
    const { page } = await world.open(`jobs/${id}`, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.getByRole("button", { name: "Copy trace id" }).click();
    await page.getByText("Copied.").waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(traceparent.split("-")[1]);
  });

  it("groups the reasons of a refused dispatch, never a line a worker", async () => {
    for (const name of ["a", "b", "c"]) await register(world, `other-${name}`, { provider: "others" });
    const { page } = await world.open("jobs/new");
    await page.getByLabel("Prompt").fill("Nobody");
    await page.getByLabel("Tags").fill("nowhere");
    await page.getByRole("button", { name: "Dispatch now" }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("4 workers").waitFor();
    await expect.poll(() => alert.getByRole("listitem").count()).toBe(1);
  });
});
