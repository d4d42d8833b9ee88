// Cost, schedules, the catalog's week, the palette, and a config draft that is not lost.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ActingWorker, register } from "./acting-worker.ts";
import { lacksBrowser, startWorld, type World } from "./browser.ts";
import { fakeProvider } from "./fake-provider.ts";

describe.skipIf(lacksBrowser())("money and time", () => {
  let world: World;
  let worker: ActingWorker;
  const provider = fakeProvider("acme-models");
  beforeAll(async () => {
    const folder = await provider.start();
    world = await startWorld({ hasWorker: false, env: { SERVICE_CATALOG_DIR: folder } });
    worker = await register(world, "box-1");
  }, 90_000);
  afterAll(async () => {
    await world?.close();
    await provider.stop();
  });

  it("the cost of a span is shown by model, and its file hands no formula to a spreadsheet", async () => {
    await world.call("PUT", "/config", { budget: { day_usd: 1 } });
    const { id } = await world.call<{ id: string }>("POST", "/api/jobs", { prompt: "spend" });
    const usage = { input_tokens: 10, output_tokens: 5 };
    await worker.complete(id, "done", { usage, cost_usd: 0.9, model: "=cmd" });
    const { page, faults } = await world.show("cost");
    await page.getByText("Today: $0.90 of $1.00").waitFor();
    await expect.poll(() => page.locator(".budget-caution").count()).toBe(1);
    await page.getByRole("radio", { name: "model", exact: true }).press("Space");
    await page.getByRole("row").filter({ hasText: "=cmd" }).getByText("$0.90").waitFor();
    await page.locator(".plot-legend").getByText("=cmd").waitFor();
    await page.getByText("In numbers").click();
    await page
      .getByRole("table", { name: "Cost by hour" })
      .getByRole("row", { name: /^\d+ \w+, \d\d:00 \$0\.90 1$/ })
      .waitFor();
    const file = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download as CSV" }).click();
    const stream = await (await file).createReadStream();
    let text = "";
    for await (const part of stream) text += part;
    expect(text).toContain("'=cmd,0.9,1,0,10,5");
    expect(faults()).toEqual([]);
  });

  it("the cost by key says what each key is called", async () => {
    const { page, faults } = await world.show("cost?by=key");
    const row = page
      .getByRole("table", { name: "Cost by key" })
      .getByRole("row")
      .filter({ hasText: "first admin key" });
    await row.getByText("$0.90").waitFor();
    await page.locator(".plot-legend").getByText("first admin key").waitFor();
    await row.getByRole("link", { name: "first admin key" }).click();
    await page.getByRole("row", { name: "spend" }).getByText("$0.90").waitFor();
    expect(faults()).toEqual([]);
  });

  it("jobs of unknown price are one link from the cost that leaves them out", async () => {
    const { id } = await world.call<{ id: string }>("POST", "/api/jobs", { prompt: "priceless", model: "unheard-of" });
    await worker.complete(id, "done", { usage: { input_tokens: 10, output_tokens: 5 } });
    const { page, faults } = await world.show("cost");
    await page.getByRole("link", { name: "1 job of unknown price" }).click();
    await page.getByRole("link", { name: "priceless" }).waitFor();
    await page.getByLabel("Counted in the cost").selectOption({ label: "at any time" });
    await page.waitForURL((url) => !url.hash.includes("unpriced_since"));
    await expect.poll(() => page.getByRole("table", { name: "Jobs" }).locator("tbody tr").count()).toBe(1);
    // The tile's other figure is of the chosen span.
    await page.goto(`${world.server.url}/#/`);
    await page.getByText("1 job of unknown price today").waitFor();
    expect(faults()).toEqual([]);
  });

  it("a completed job without tokens is of unknown price on its page, as the cost counts it", async () => {
    const { id } = await world.call<{ id: string }>("POST", "/api/jobs", { prompt: "no tokens" });
    await worker.complete(id, null);
    const { page, faults } = await world.show(`jobs/${id}`);
    await page.getByText("unknown: no price is known for it").waitFor();
    await page.getByRole("region", { name: "Attempts" }).getByText("price unknown").waitFor();
    expect(faults()).toEqual([]);
  });

  it("a provider's reached budget is named with the jobs that it keeps waiting", async () => {
    const { call } = world;
    await register(world, "paid-box", { provider: "paid" }).then(async (paid) => {
      const { id } = await call<{ id: string }>("POST", "/api/jobs", { prompt: "spend", provider: "paid" });
      await paid.complete(id, "done", { usage: { input_tokens: 1, output_tokens: 1 }, cost_usd: 0.5 });
    });
    await call("PUT", "/config", {
      providers: { paid: { budget: { day_usd: 0.25 } }, spare: { budget: { day_usd: 5 } } },
    });
    for (const prompt of ["one", "two"]) await call("POST", "/api/jobs", { prompt, provider: "paid" });
    const { page, faults } = await world.show("cost");
    await page.getByText("The budget of paid is reached: it gets no new jobs.").waitFor();
    expect(await page.getByText("At this pace no budget is reached").count()).toBe(0);
    // Several stand in a row, so that the table of who spent it is not far down.
    const topOf = async (provider: string) =>
      (await page.getByRole("region", { name: `Budget of ${provider}` }).boundingBox())?.y;
    await expect.poll(async () => ((await topOf("spare")) ?? 0) - ((await topOf("paid")) ?? 1)).toBe(0);
    await page.getByRole("link", { name: "2 jobs that wait ask for it." }).click();
    await page.getByRole("link", { name: "two", exact: true }).waitFor();
    await page.goto(`${world.server.url}/#/`);
    await page.getByText("The budget of paid is reached: it gets no new jobs.").waitFor();
    await call("PUT", "/config", {});
    expect(faults()).toEqual([]);
  });

  it("the overview shows the budget that is nearest to its end, a provider's too", async () => {
    const near = { providers: { acme: { budget: { day_usd: 1000 } } }, budget: { day_usd: 100_000 } };
    await world.call("PUT", "/config", near);
    const { id } = await world.call<{ id: string }>("POST", "/api/jobs", { prompt: "spend" });
    await worker.complete(id, "done", { usage: { input_tokens: 1, output_tokens: 1 }, cost_usd: 0.9 });
    const { page, faults } = await world.show("");
    const tile = page.getByRole("region", { name: "Cost and budget" });
    await tile.getByText(/^acme today: /).waitFor();
    await expect.poll(() => tile.locator(".budget-bar").count()).toBe(1);
    expect(faults()).toEqual([]);
  });

  it("what changed in the catalog this week, prices too, is one action from anywhere", async () => {
    const { call } = world;
    provider.models = [
      { id: "kept", in: 3, out: 15 },
      { id: "dropped", in: 1, out: 2 },
    ];
    const { id } = await call<{ id: string }>("POST", "/catalog/subscriptions", { provider: "acme-models" });
    await call("POST", `/catalog/subscriptions/${id}/sync`);
    provider.models = [{ id: "kept", in: 2, out: 10 }, { id: "brand-new" }];
    await call("POST", `/catalog/subscriptions/${id}/sync`);
    const { page, faults } = await world.show("");
    await page.getByRole("link", { name: "Catalog", exact: true }).click();
    const week = page.getByRole("region", { name: "Changes of this week" });
    await week.getByText("kept price $3.00 in, $15.00 out → $2.00 in, $10.00 out per million tokens").waitFor();
    await week.getByText("removed acme-models dropped").waitFor();
    await week.getByText("added acme-models brand-new").waitFor();
    await week.getByRole("link", { name: "acme-models" }).first().click();
    await page.getByText("$2.00 in, $10.00 out", { exact: true }).waitFor();
    expect(faults()).toEqual([]);
  });

  it("yesterday's cost by model takes three actions", async () => {
    const { page } = await world.show("");
    await page.getByRole("link", { name: "Cost", exact: true }).click();
    await page.getByLabel("Span").selectOption("yesterday");
    await page.getByRole("radio", { name: "model", exact: true }).press("Space");
    await page.getByRole("heading", { name: "Yesterday" }).waitFor();
    await page.getByText("Nothing was spent in this span.").waitFor();
  });

  it("which schedules skipped runs is seen on their list", async () => {
    await world.call("POST", "/api/schedules", {
      name: "overlapping",
      interval: "1s",
      prompt: "long",
      overlap: "skip",
      tags: ["h100"],
    });
    const { page, faults } = await world.show("");
    await page.getByRole("link", { name: "Schedules", exact: true }).click();
    const row = page.getByRole("row").filter({ hasText: "overlapping" });
    await row.getByText(/^\d+ skipped$/).waitFor();
    await row.getByRole("img", { name: "Next 24 hours: 50 runs and more" }).waitFor();
    expect(faults()).toEqual([]);
  });

  it("the palette goes, finds and acts, and the help says what the keys do", async () => {
    const { page, faults } = await world.open("");
    await page.keyboard.press("Control+k");
    await page.getByLabel("Page, worker, job id").fill("box-1");
    await page.getByRole("option", { name: "Pause box-1" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "box-1" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByLabel("Page, worker, job id").fill("killsw");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Engage the killswitch" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "box-1" }).focus();
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor();
    expect(faults()).toEqual([]);
  });

  it("the palette finds what the page does not hold, and takes an id's beginning for what it is", async () => {
    const { call } = world;
    const { id } = await call<{ id: string }>("POST", "/api/jobs", { prompt: "Long past", tags: ["h100"] });
    await call("POST", `/api/jobs/${id}/cancel`);
    const { page, faults } = await world.show("");
    await page.keyboard.press("Control+k");
    await page.getByLabel("Page, worker, job id").fill(id.slice(0, -4));
    await page.getByRole("option", { name: "Long past" }).click();
    await page.getByRole("heading", { name: "Long past" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByLabel("Page, worker, job id").fill("00000000-0000");
    await page.getByRole("option", { name: "Jobs with “00000000-0000”" }).click();
    await page.getByText("No job matches.").waitFor();
    expect(faults()).toEqual([]);
  });

  it("the palette finds a worker of which the page does not know", async () => {
    const { page, faults } = await world.open("");
    await page.route("**/api/workers?*q=far-away*", async (route) => {
      const answer = await route.fetch({ url: `${world.server.url}/api/workers?limit=1` });
      const { workers, ...rest } = await answer.json();
      const far = workers.map((one: object) => ({ ...one, instance: "far-away-1" }));
      await route.fulfill({ response: answer, json: { ...rest, workers: far } });
    });
    await page.keyboard.press("Control+k");
    await page.getByLabel("Page, worker, job id").fill("far-away");
    await page.getByRole("option", { name: "far-away-1 worker" }).waitFor();
    expect(faults()).toEqual([]);
  });

  it("the palette finds schedules, batches, keys and pages by a button, too, and runs a schedule", async () => {
    const { call } = world;
    await call("POST", "/api/schedules", { name: "palette-nightly", interval: "1h", prompt: "Sweep" });
    const { id: key } = await call<{ id: string }>("POST", "/api/keys", { name: "palette-ci", role: "client" });
    const input = await call<{ id: string }>("POST", "/api/files?name=in.jsonl&purpose=batch", { no: "line" });
    const asked = { input_file_id: input.id, endpoint: "/v1/embeddings", completion_window: "24h" };
    await call("POST", "/v1/batches", { ...asked, metadata: { name: "palette texts" } });
    const { page, faults } = await world.show("");
    const find = async (words: string): Promise<void> => {
      await page.getByRole("button", { name: /^Find anything/ }).click();
      await page.getByLabel("Page, worker, job id").fill(words);
    };
    const option = (name: string) => page.getByRole("option", { name, exact: true });
    await find("palette");
    await option("palette texts batch").click();
    await page.getByRole("heading", { name: "palette texts" }).waitFor();
    await find(key);
    await option("palette-ci key").click();
    await page.locator("tr.row-selected").getByText("palette-ci").waitFor();
    await find("audit");
    await option("Audit log settings").click();
    await page.getByRole("heading", { name: "Settings" }).waitFor();
    await find("palette-night");
    await option("palette-nightly schedule").waitFor();
    await page.getByLabel("Page, worker, job id").fill("run palette");
    await option("Run palette-nightly action").click();
    await page.getByText("palette-nightly runs now.").waitFor();
    expect(faults()).toEqual([]);
  });
});
