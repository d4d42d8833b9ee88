// Batches: progress while it runs, errors by code, files, lines, faults of a file, cancelling; and the files of a job.

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { register } from "./acting-worker.ts";
import { lacksBrowser, startWorld, type World, worldForTests } from "./browser.ts";

interface Made {
  readonly id: string;
}

/** Of the runtime `echo`, which fails or takes its time as its metadata says. */
const line = (name: string, metadata: Record<string, string> = {}, model = "echo"): string =>
  JSON.stringify({
    custom_id: name,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model, messages: [{ role: "user", content: `Say ${name}` }], metadata },
  });
const FAILS = { fail: JSON.stringify({ code: "content_filter", message: "refused", status: 400 }) };

describe.skipIf(lacksBrowser())("batches", () => {
  let world: World;
  worldForTests(startWorld, async (started) => {
    world = started;
    await world.untilWorker();
  });

  const upload = async (name: string, body: string, type = "application/jsonl"): Promise<string> => {
    const { url, adminKey } = world.server;
    const headers = { authorization: `Bearer ${adminKey}`, "content-type": type };
    const sent = await fetch(`${url}/api/files?name=${name}&purpose=batch`, { method: "POST", headers, body });
    return ((await sent.json()) as Made).id;
  };
  const begin = async (name: string, lines: readonly string[]): Promise<string> => {
    const input_file_id = await upload(`${name}.jsonl`, lines.join("\n"));
    const asked = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h", metadata: { name } };
    return (await world.call<Made>("POST", "/v1/batches", asked)).id;
  };
  const percent = async (page: Page): Promise<number> =>
    Number(await page.getByRole("progressbar").getAttribute("aria-valuenow"));
  const downloaded = async (page: Page, name: string): Promise<string> => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: `Download: ${name}` }).click(),
    ]);
    return readFile(await download.path(), "utf8");
  };

  it("shows progress without a reload, then errors by code, the workers, and the answers to download", async () => {
    const lines = [
      ...Array.from({ length: 8 }, (_, at) => line(`slow-${at}`, { delay_ms: "500" })),
      line("bad", FAILS),
    ];
    const id = await begin("survey", lines);
    const { page, faults } = await world.show("batches");
    await page.getByRole("row", { name: /survey/ }).waitFor();
    await page.getByRole("link", { name: "survey" }).click();
    await page.getByRole("progressbar", { name: `Progress of ${id}` }).waitFor();
    await expect.poll(() => percent(page)).toBeGreaterThan(0);
    await expect.poll(() => percent(page)).toBe(100);
    expect(await page.getByRole("progressbar").getAttribute("aria-valuetext")).toBe(
      "100 percent: 8 completed, 1 failed",
    );
    await page.getByText("completed", { exact: true }).first().waitFor();
    const workers = page.locator(".panel", { hasText: "Done by" });
    await workers.getByRole("link", { name: "local-worker" }).waitFor();
    expect(await workers.textContent()).toContain("8 lines");
    expect(await downloaded(page, `${id}_output.jsonl`)).toContain('"custom_id":"slow-3"');
    await page.getByRole("link", { name: "content_filter" }).click();
    await page.getByRole("heading", { name: "Jobs", exact: true }).waitFor();
    await expect.poll(() => page.locator("tr[data-job]").count()).toBe(1);
    await page.locator("tr[data-job] .row-link").click();
    await page.getByRole("link", { name: id }).waitFor();
    await page.getByText("line bad").waitFor();
    expect(faults()).toEqual([]);
  }, 60_000);

  it("says what is wrong with a file, line by line", async () => {
    const id = await begin("broken", [line("same"), line("same"), "{nope"]);
    const { page, faults } = await world.show(`batches/${id}`);
    const wrong = page.locator(".panel", { hasText: "What is wrong with its file" });
    await expect.poll(() => wrong.getByRole("listitem").count()).toBe(2);
    expect(await wrong.textContent()).toContain("line 2");
    expect(await page.getByRole("progressbar").count()).toBe(0);
    expect(faults()).toEqual([]);
  });

  it("says what a batch waits for, and cancels it", async () => {
    const id = await begin("later", [line("one", {}, "a-model-of-nobody"), line("two", {}, "a-model-of-nobody")]);
    const { page, faults } = await world.show(`batches/${id}`);
    await page.locator(".verdict", { hasText: /^Waits: .*a-model-of-nobody/ }).waitFor();
    await page.getByRole("button", { name: "Cancel the batch" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("2 lines will not run").waitFor();
    await dialog.getByRole("button", { name: "Cancel the batch" }).click();
    await page.getByText("cancelled", { exact: true }).first().waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Cancel the batch" }).count()).toBe(0);
    expect(await downloaded(page, `${id}_errors.jsonl`)).toContain("batch_cancelled");
    expect(faults()).toEqual([]);
  });

  it("keeps the line that says what the next lines wait for, also while they wait for nothing", async () => {
    const id = await begin("fast", [line("one", {}, "a-model-of-nobody")]);
    const { page } = await world.show("");
    const batch = await world.call<object>("GET", `/api/batches/${id}`);
    let waiting_reason: string | null = 'worker "box" is at capacity';
    await page.route(`**/api/batches/${id}`, (route) =>
      route.fulfill({ json: { ...batch, status: "in_progress", running: 5, waiting: 9, waiting_reason } }),
    );
    await page.goto(`${world.server.url}/#/batches/${id}`);
    await page.getByText('The next lines wait: worker "box" is at capacity').waitFor();
    waiting_reason = null;
    await page.getByText("The next lines are given to workers.").waitFor();
    await world.call("POST", `/v1/batches/${id}/cancel`);
  });

  it("shows ten of the workers that did its lines, and the others on demand", async () => {
    const id = await begin("by many", [line("one", {}, "a-model-of-nobody")]);
    const { page } = await world.show("");
    const batch = await world.call<object>("GET", `/api/batches/${id}`);
    const workers = Array.from({ length: 61 }, (_, at) => ({ instance: `box-${at}`, completed: 61 - at }));
    await page.route(`**/api/batches/${id}`, (route) => route.fulfill({ json: { ...batch, workers } }));
    await page.goto(`${world.server.url}/#/batches/${id}`);
    const rows = page.locator(".panel", { hasText: "Done by" }).getByRole("listitem");
    await page.getByRole("link", { name: "box-9", exact: true }).waitFor();
    await expect.poll(() => rows.count()).toBe(10);
    await page.getByRole("button", { name: "Show 51 more workers" }).click();
    await expect.poll(() => rows.count()).toBe(61);
    await world.call("POST", `/v1/batches/${id}/cancel`);
  });

  it("shows a viewer everything but the bytes and the button", async () => {
    const id = await begin("seen", [line("one", {}, "a-model-of-nobody")]);
    const { key } = await world.call<{ key: string }>("POST", "/api/keys", { name: "viewer", role: "viewer" });
    const { page, faults } = await world.visit(`/#key=${key}`);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.goto(`${world.server.url}/#/batches/${id}`);
    await page.getByText("seen.jsonl").waitFor();
    expect(await page.getByRole("link", { name: /^Download/ }).count()).toBe(0);
    expect(await page.getByRole("button", { name: "Cancel the batch" }).count()).toBe(0);
    expect(faults()).toEqual([]);
  });

  it("shows a job's files, given and made, and a result that is kept as a file", async () => {
    const given = await upload("contract.txt", "the parties agree", "text/plain");
    const worker = await register(world, "files-1", { provider: "filer" });
    const asked = { prompt: "Read the contract", provider: "filer", files: [given] };
    const { id } = await world.call<Made>("POST", "/api/jobs", asked);
    const { lease } = await worker.start(id);
    await world.call("POST", `/api/jobs/${id}/files?lease=${lease}&name=notes.json`, { read: true });
    const large = { text: "x".repeat(1_200_000) };
    const { file } = await world.call<{ file: Made }>("PUT", `/api/jobs/${id}/result?lease=${lease}`, large);
    await world.call("POST", `/api/jobs/${id}/complete`, { lease, result_file: file.id });
    const { page, faults } = await world.show(`jobs/${id}`);
    const result = page.locator(".panel", { has: page.getByRole("heading", { name: "Result" }) });
    await result.getByText("1.1 MiB").first().waitFor();
    expect(await downloaded(page, "contract.txt")).toBe("the parties agree");
    expect(await downloaded(page, "notes.json")).toBe('{"read":true}');
    const link = result.getByRole("link", { name: /^Download/ });
    expect(await downloaded(page, (await link.getAttribute("download")) ?? "")).toContain("xxx");
    await world.call("DELETE", `/api/files/${given}`);
    await page.reload();
    await page.getByText("gone: it has expired or was deleted").waitFor();
    expect(faults()).toEqual([]);
  });
});
