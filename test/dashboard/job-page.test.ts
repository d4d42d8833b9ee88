// A job's page: its attempts, its prompt beside its result, and a copy of the job.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ActingWorker, register } from "./acting-worker.ts";
import { lacksBrowser, startWorld, type World } from "./browser.ts";

interface Made {
  readonly id: string;
}

describe.skipIf(lacksBrowser())("a job's page", () => {
  let world: World;
  let worker: ActingWorker;
  beforeAll(async () => {
    world = await startWorld({ hasWorker: false });
    worker = await register(world, "box-1");
  }, 90_000);
  afterAll(() => world?.close());

  const failedOnce = async (prompt: string, result: unknown): Promise<string> => {
    const { id } = await world.call<Made>("POST", "/api/jobs", { prompt, provider: "acme", max_attempts: 3 });
    await worker.fail(id, { code: "runtime_error", message: "the runtime broke off", retryable: true });
    const usage = { input_tokens: 1200, output_tokens: 34 };
    await worker.complete(id, result, { usage, cost_usd: 0.0123, model: "m-large" });
    return id;
  };

  it("shows each attempt with its worker, model, cost and error; two are compared in three actions", async () => {
    await failedOnce("Compare my attempts", "done");
    const { page, faults } = await world.show("");
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByRole("link", { name: "Compare my attempts" }).click();
    await page.getByRole("button", { name: "Compare attempts" }).click();
    const sides = page.getByRole("region", { name: "Two attempts side by side" });
    const error = sides.getByRole("row", { name: /^Error/ });
    expect(await error.textContent()).toContain("runtime_error: the runtime broke off");
    expect(await error.textContent()).toContain("none");
    expect(await sides.getByRole("row", { name: /^Cost/ }).textContent()).toContain("$0.0123");
    const attempts = page.getByRole("region", { name: "Attempts" });
    await attempts.getByText("acme · m-large").first().waitFor();
    for (const phase of ["Queue", "Assigned", "Run"])
      await attempts.getByText(phase, { exact: true }).first().waitFor();
    expect(faults()).toEqual([]);
  });

  it("goes on with a text that broke off while it was written, after its last event", async () => {
    const { id } = await world.call<Made>("POST", "/api/jobs", { prompt: "Tell", provider: "none", stream: true });
    const { page } = await world.show("");
    const asked: (string | undefined)[] = [];
    const chunk = (number: number, text: string) => `event: chunk\nid: 1.${number}\ndata: {"text":"${text}"}\n\n`;
    await page.route(`**/api/jobs/${id}/stream`, (route) => {
      asked.push(route.request().headers()["last-event-id"]);
      if (asked.length === 2) return route.abort("connectionreset");
      const body = asked.length === 1 ? chunk(1, "Hello ") : chunk(2, "world");
      return route.fulfill({ contentType: "text/event-stream", body: asked.length > 3 ? "" : body });
    });
    await page.goto(`${world.server.url}/#/jobs/${id}`);
    await page.getByText("Hello world").waitFor();
    expect(asked.slice(0, 3)).toEqual([undefined, "1.1", "1.1"]);
  });

  it("says why its worker got it: the score by its parts, the next best worker and where that scored lower", async () => {
    await register(world, "tagged", { provider: "duo", tags: "a,b" });
    await register(world, "plain", { provider: "duo" });
    const { id } = await world.call<Made>("POST", "/dispatch", { prompt: "Choose", provider: "duo" });
    const { page, faults } = await world.show(`jobs/${id}`);
    await page.getByRole("heading", { name: "Why plain" }).waitFor();
    await page
      .getByText(/^Next best: tagged, score [\d.]+; lower in tag fit\.$/)
      .first()
      .waitFor();
    await page.getByText("Left out: 1 worker of another provider.").first().waitFor();
    const fit = page.getByRole("row", { name: "tag fit" }).first();
    expect(await fit.textContent()).toMatch(/100 %33 %/);
    const part = fit.locator(".part-share rect").first();
    expect(await part.evaluate((rect) => getComputedStyle(rect).fill)).not.toBe("rgb(0, 0, 0)");
    expect(faults()).toEqual([]);
  });

  it("renders a result as text only, and shows JSON as a tree", async () => {
    const id = await failedOnce("Render", "# Head\n\n- <b>one</b>\n- **two**\n\n```\ncode\n```");
    const { page, faults } = await world.show(`jobs/${id}`);
    await page.getByRole("button", { name: "Rendered: Result" }).click();
    const result = page.getByLabel("Result", { exact: true });
    await result.getByText("<b>one</b>").waitFor();
    expect(await result.locator("b").count()).toBe(0);
    expect(await result.locator("strong").textContent()).toBe("two");
    const { id: listed } = await world.call<Made>("POST", "/api/jobs", { prompt: "Tree", provider: "acme" });
    await worker.complete(listed, { rows: [{ name: "first" }] });
    await page.goto(`${world.server.url}/#/jobs/${listed}`);
    await page.getByRole("button", { name: "Tree: Result" }).click();
    await page.getByLabel("Result", { exact: true }).getByText('"first"').waitFor();
    expect(faults()).toEqual([]);
  });

  it("says what a job waits for as it is now, with the worker that cannot take it and why", async () => {
    const asked = { prompt: "Wait", provider: "later", tags: [] };
    const { id } = await world.call<Made>("POST", "/api/jobs", asked);
    const { page, faults } = await world.show(`jobs/${id}`);
    const wait = page.locator(".verdict", { hasText: "Waits:" });
    await wait.getByText('no worker offers provider "later"').waitFor();
    await page.getByRole("heading", { name: "Not assigned yet" }).waitFor();
    await world.call("POST", "/presence", { instance: "late-1", provider: "later", unavailable: "loads its model" });
    await wait.getByText(/loads its model/).waitFor();
    const choice = page.locator(".panel", { hasText: "Who would get it now" });
    await choice.getByRole("link", { name: "late-1" }).waitFor();
    await choice.getByText(/loads its model/).waitFor();
    await world.call("POST", `/api/jobs/${id}/cancel`);
    await page.getByRole("heading", { name: "Never assigned" }).waitFor();
    await expect.poll(() => wait.count()).toBe(0);
    expect(faults()).toEqual([]);
  });

  it("names the day of an event that is not of the same day as the one before", async () => {
    const { id } = await world.call<Made>("POST", "/api/jobs", { prompt: "Days", tags: ["nobody"] });
    const { page } = await world.show("jobs");
    const event = { worker: null, lease: 0, detail: null };
    const events = [
      { ...event, type: "job.created", at: "2026-03-02T09:00:00.000Z" },
      { ...event, type: "job.updated", at: "2026-03-02T09:00:05.000Z" },
      { ...event, type: "job.cancelled", at: "2026-03-04T08:00:00.000Z" },
    ];
    await page.route(`**/api/jobs/${id}/events`, (route) => route.fulfill({ json: { events } }));
    await page.goto(`${world.server.url}/#/jobs/${id}`);
    const times = page.locator(".event-at");
    await expect.poll(() => times.allTextContents()).toEqual(["10:00:00", "10:00:05", expect.stringMatching(/4 Mar/)]);
  });

  it("a copy keeps a long prompt, the input, the timeout and the attempts", async () => {
    const prompt = `Begin ${"word ".repeat(2000)}end`;
    const asked = { prompt, input: { temperature: 0.5 }, timeout_seconds: 321, max_attempts: 4, tags: ["h100"] };
    const { id } = await world.call<Made>("POST", "/api/jobs", asked);
    const { page, faults } = await world.show(`jobs/${id}`);
    await page.getByRole("link", { name: "Create a copy" }).click();
    await page.getByRole("button", { name: "Put in the queue" }).click();
    await expect.poll(() => page.url()).toMatch(/#\/jobs\/(?!new)/);
    const made = page.url().split("/").at(-1) ?? "";
    expect(made).not.toBe(id);
    expect(await world.call("GET", `/api/jobs/${made}`)).toMatchObject(asked);
    expect(faults()).toEqual([]);
  });

  it("a result that is a text in an object is read as text, and its JSON is one press away", async () => {
    const { id } = await world.call<Made>("POST", "/api/jobs", { prompt: "Words", provider: "acme" });
    await worker.complete(id, { text: "# It is **done**" });
    const { page } = await world.show(`jobs/${id}`);
    await page.getByRole("region", { name: "Result" }).getByText("It is done").waitFor();
    await page.getByRole("button", { name: "Raw: Result" }).click();
    await page.getByRole("region", { name: "Result" }).getByText('"text"').waitFor();
  });

  it("a job's progress is shown as its worker reports it", async () => {
    const { id } = await world.call<Made>("POST", "/api/jobs", { prompt: "Step by step", provider: "acme" });
    const { lease } = await worker.start(id);
    const { page, faults } = await world.show(`jobs/${id}`);
    await page.getByText("Nothing yet.").waitFor();
    for (const text of ["A third is done", "Two thirds are done"]) {
      await world.call("POST", `/api/jobs/${id}/heartbeat`, { lease, progress: { text } });
      await page.getByRole("region", { name: "Progress" }).getByText(text).waitFor();
    }
    await world.call("POST", `/api/jobs/${id}/complete`, { lease, result: "all of it" });
    await page.getByRole("region", { name: "Result" }).getByText("all of it").waitFor();
    expect(faults()).toEqual([]);
  });

  it("a job's progress that is a text in an object is read as text", async () => {
    const { id } = await world.call<Made>("POST", "/api/jobs", { prompt: "Slowly", provider: "acme" });
    const { lease } = await worker.start(id);
    await world.call("POST", `/api/jobs/${id}/heartbeat`, { lease, progress: { text: "It is **half** done" } });
    const { page, faults } = await world.show(`jobs/${id}`);
    await page.getByRole("region", { name: "Progress" }).getByText("It is half done").waitFor();
    await world.call("POST", `/api/jobs/${id}/complete`, { lease, result: "done" });
    expect(faults()).toEqual([]);
  });

  it("offers to take a running job back only from a worker that is offline or unknown", async () => {
    const { id } = await world.call<Made>("POST", "/api/jobs", { prompt: "Take back", provider: "acme" });
    const { lease } = await worker.start(id);
    const { page, faults } = await world.show(`jobs/${id}`);
    const retry = page.getByRole("button", { name: "Retry" });
    await page.getByRole("button", { name: "Cancel", exact: true }).waitFor();
    await expect.poll(() => page.locator(".loading").count()).toBe(0);
    expect(await retry.count()).toBe(0);
    await page.route("**/api/workers/box-1", async (route) => {
      const answer = await (await route.fetch()).json();
      return route.fulfill({ json: { ...answer, status: "offline" } });
    });
    await page.reload();
    await retry.waitFor();
    await page.route("**/api/workers/box-1", (route) => route.fulfill({ status: 404, json: { code: "not_found" } }));
    await page.reload();
    await retry.waitFor();
    await world.call("POST", `/api/jobs/${id}/complete`, { lease, result: "done" });
    await expect.poll(() => retry.count()).toBe(0);
    expect(faults()).toEqual([]);
  });

  it("a job is edited in a dialog whose every choice has its name in sight", async () => {
    const { id } = await world.call<Made>("POST", "/api/jobs", { prompt: "Edit me", provider: "nobody" });
    const { page, faults } = await world.show(`jobs/${id}`);
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    const name = await page.getByRole("dialog").locator("legend", { hasText: "Priority" }).boundingBox();
    expect(name?.width).toBeGreaterThan(20);
    await page.getByRole("radio", { name: "high" }).check({ force: true });
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Job changed.").waitFor();
    expect(await world.call("GET", `/api/jobs/${id}`)).toMatchObject({ priority: "high" });
    expect(faults()).toEqual([]);
  });

  it("a new job is not queued over a start that is only half typed", async () => {
    const { page, faults } = await world.open("jobs/new");
    await page.getByRole("button", { name: "Put in the queue" }).click();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
    await page.getByLabel("Prompt").fill("Not yet");
    await page.getByText("Input, start, limits").click();
    await page.getByLabel("Not before").focus();
    await page.keyboard.type("11");
    await page.getByRole("button", { name: "Put in the queue" }).click();
    expect(await page.evaluate(() => (document.activeElement as HTMLInputElement).type)).toBe("datetime-local");
    expect(await world.call("GET", "/api/jobs?q=Not+yet")).toMatchObject({ total: 0 });
    expect(faults()).toEqual([]);
  });

  it("a job that is not there offers no other try", async () => {
    const { page } = await world.show("jobs/nothing");
    await page.getByRole("alert").filter({ hasText: "Not found" }).waitFor();
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
  });

  it("a catalog whose syncs are turned off promises no next one", async () => {
    await world.call("POST", "/catalog/subscriptions", { provider: "openai" });
    const { page } = await world.show("catalog");
    await page.getByRole("row").filter({ hasText: "openai" }).getByText("off", { exact: true }).waitFor();
  });
});
