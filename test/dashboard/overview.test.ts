// The Overview shows what is wrong: what waits and why, what fails, and what blocks it.

import { once } from "node:events";
import type { Page } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { lacksBrowser, startWorld, type World, worldForTests } from "./browser.ts";

interface Job {
  id: string;
  lease: number;
  status: string;
}

describe.skipIf(lacksBrowser())("the overview", () => {
  let world: World;
  worldForTests(
    () => startWorld({ hasWorker: false }),
    (started) => {
      world = started;
    },
  );
  // A sign of life before each test: the file may take longer than the time after which a worker counts as offline.
  beforeEach(() => present("openai"));

  const present = (provider: string, facts: object = {}) =>
    world.call("POST", "/presence", {
      instance: provider,
      provider,
      status: "idle",
      tags: "",
      concurrency: 50,
      ...facts,
    });
  const end = async (verb: "fail" | "complete", report: object): Promise<string> => {
    const { id, lease } = await world.call<Job>("POST", "/dispatch", { prompt: `to ${verb}`, provider: "openai" });
    await world.call("POST", `/api/jobs/${id}/start`, { lease });
    await world.call("POST", `/api/jobs/${id}/${verb}`, { lease, ...report });
    return id;
  };
  const fail = (code: string) =>
    end("fail", { error: { code, status: 500, message: "upstream connect error", retryable: false } });
  const table = (page: Page, name: RegExp) => page.getByRole("table", { name });

  it("shows every reason for waiting with its count and its oldest, past the newest 200 jobs, and leads to those jobs", async () => {
    await world.call("POST", "/api/jobs", { prompt: "the oldest of all", tags: ["h100"] });
    await world.call("POST", "/api/jobs", { prompt: "the second", tags: ["h100"], model: "big" });
    await world.call("POST", "/api/jobs/batch", {
      jobs: Array.from({ length: 250 }, () => ({ prompt: "newer", provider: "groq" })),
    });
    const { page, faults } = await world.show("");
    const waits = table(page, /jobs that wait, by reason/);
    const first = waits.getByRole("row").filter({ hasText: "h100" }).first();
    await first.getByRole("cell", { name: "2", exact: true }).waitFor();
    await waits.getByRole("row").filter({ hasText: 'provider "groq"' }).getByText("250").waitFor();
    // The quantiles count only jobs that a worker took, so the tile says who waits still.
    await page.getByText(/252 wait now, the oldest for \d/).waitFor();
    await first.getByRole("link").click();
    await page.getByRole("link", { name: "the oldest of all" }).waitFor();
    await page.getByRole("link", { name: "the second" }).waitFor();
    expect(await page.getByRole("link", { name: "newer", exact: true }).count()).toBe(0);
    await page.goBack();
    await world.call("POST", "/api/jobs/bulk", { action: "cancel", filter: { tag: "h100" } });
    await expect.poll(() => waits.getByText("h100").count()).toBe(0);
    await world.call("POST", "/api/jobs/bulk", { action: "cancel", filter: { provider: "groq" } });
    await page.getByText("Nothing waits.").waitFor();
    expect(faults()).toEqual([]);
  });

  it("reads each thing once, and the session while its code still loads", async () => {
    const { page } = await world.open("");
    const asked: string[] = [];
    await page.goto("about:blank");
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${world.server.url}/#/`);
    await page.getByRole("heading", { name: "Cost and budget" }).waitFor();
    await page.getByRole("heading", { name: "First steps" }).waitFor();
    await table(page, /^How long jobs wait/)
      .or(page.getByText("No job was completed in this period"))
      .waitFor();
    const reads = asked.filter((path) => !/^\/(assets\/.*|favicon.svg)?$/.test(path));
    expect(reads.toSorted()).toEqual([...new Set(reads)].toSorted());
    expect(reads.length).toBeGreaterThan(5);
    const code = asked.findIndex((path) => path.startsWith("/assets/index-"));
    expect(asked.indexOf("/session")).toBeLessThan(code + 1);
  });

  it("leaves room for the reason beside a tag as long as tags may be", async () => {
    const tag = "a-tag-as-long-as-tags-may-be-which-is-sixty-four-characters-long";
    await world.call("POST", "/api/jobs", { prompt: "long tag", tags: [tag] });
    const { page } = await world.open("", { viewport: { width: 1280, height: 800 } });
    const reason = table(page, /that wait, by reason/).getByRole("cell", { name: /^no worker offers tag/ });
    await reason.waitFor();
    expect((await reason.boundingBox())?.width).toBeGreaterThan(250);
    await world.call("POST", "/api/jobs/bulk", { action: "cancel", filter: { tag } });
  });

  const reloadAt = async (page: Page, at: number): Promise<void> => {
    const told = `"server_time":"${new Date(at).toISOString()}"`;
    await page.routeWebSocket(/\/live$/, (socket) =>
      socket.connectToServer().onMessage((text) => socket.send(String(text).replace(/"server_time":"[^"]+"/, told))),
    );
    await page.reload();
    await page.getByText("Live", { exact: true }).waitFor();
  };

  it("shows who failed in the last hour and why at a glance, and retries exactly these, though its clock is behind", async () => {
    const { page, faults } = await world.open("settings");
    await reloadAt(page, Date.now() - 10_000);
    const ids = [await fail("provider_failed"), await fail("provider_failed")];
    const other = await fail("bad_output");
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    const failing = table(page, /What failed in the last hour/);
    const row = failing.getByRole("row").filter({ hasText: "provider_failed" });
    await row.getByRole("cell", { name: "2", exact: true }).waitFor();
    for (const says of ["openai", "new"]) await row.getByRole("cell", { name: says, exact: true }).waitFor();
    await row.getByRole("link", { name: "upstream connect error" }).waitFor();
    await row.getByRole("button", { name: /Retry these/ }).click();
    await page
      .getByRole("dialog")
      .getByText(/2 jobs failed with error:provider_failed ran:openai, created from/)
      .waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Retry 2 jobs" }).click();
    await page.getByText("2 jobs are back in the queue.").waitFor();
    const status = async (id: string) => (await world.call<Job>("GET", `/api/jobs/${id}`)).status;
    for (const id of ids) expect(await status(id)).not.toBe("failed");
    expect(await status(other)).toBe("failed");
    await expect.poll(() => row.count()).toBe(0);
    expect(faults()).toEqual([]);
  });

  it("offers what can be done: a batch's lines are not retried, and its page is one step away", async () => {
    const line = { custom_id: "a", method: "POST", url: "/v1/embeddings", body: { model: "vectors", input: "x" } };
    const upload = "/api/files?name=in.jsonl&purpose=batch";
    const { id: input } = await world.call<{ id: string }>("POST", upload, line);
    const asked = { input_file_id: input, endpoint: "/v1/embeddings", completion_window: "24h" };
    const { id: batch } = await world.call<{ id: string }>("POST", "/v1/batches", asked);
    await present("lines", { models: ["vectors"], apis: ["embeddings"] });
    await expect
      .poll(
        async () => {
          const { jobs } = await world.call<{ jobs: Job[] }>("POST", "/api/workers/lines/claim", { max: 1 });
          for (const { id, lease } of jobs) {
            await world.call("POST", `/api/jobs/${id}/start`, { lease });
            const error = { code: "line_broke", message: "the line broke", retryable: false };
            await world.call("POST", `/api/jobs/${id}/fail`, { lease, error });
          }
          return jobs.length;
        },
        { timeout: 20_000, interval: 200 },
      )
      .toBe(1);
    const { page, faults } = await world.show("");
    const row = table(page, /What failed in the last hour/)
      .getByRole("row")
      .filter({ hasText: "line_broke" });
    await row.getByRole("link", { name: /^Open the batch: line_broke/ }).waitFor();
    expect(await row.getByRole("button").count()).toBe(0);
    await row.getByRole("link", { name: "line_broke", exact: true }).click();
    await page.getByLabel("Select all on this page").check();
    await page.getByText("1 job selected").waitFor();
    expect(await page.getByRole("button", { name: "Retry …" }).count()).toBe(0);
    await page.goBack();
    await row.getByRole("link", { name: /^Open the batch/ }).click();
    await page.getByText(batch).first().waitFor();
    expect(faults()).toEqual([]);
  });

  it("counts throughput once, however often the page is looked at", async () => {
    for (let index = 0; index < 4; index += 1) await end("complete", { result: 1 });
    const { page } = await world.show("");
    const said = async (): Promise<number> => {
      const text = (await page.locator(".plot-says").first().textContent()) ?? "";
      const [before = 0, now = 0] = [...text.matchAll(/\d+(?= completed| so far)/g)].map(([digits]) => Number(digits));
      return before + now;
    };
    await expect.poll(said).toBe(4);
    for (let visit = 0; visit < 3; visit += 1) {
      await page.getByRole("link", { name: "Jobs", exact: true }).click();
      await page.getByRole("heading", { name: "Jobs", exact: true }).waitFor();
      await page.getByRole("link", { name: "Overview", exact: true }).click();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
    }
    expect(await said()).toBeLessThanOrEqual(4);
  });

  it.each(["by a link", "by its address"])(
    "counts a job that ends just after the page was opened %s at once, as the line above its figures does",
    async (way) => {
      const { page } = await world.open("settings");
      await page.clock.install();
      // Amid a minute that lies ahead: when a minute begins, the figures are read, too.
      const at = Math.ceil(Date.now() / 60_000) * 60_000 + 80_000;
      await page.clock.pauseAt(at);
      const openOverview = () => page.getByRole("link", { name: "Overview", exact: true }).click();
      if (way === "by its address") await openOverview();
      // The service's time is the page's, or else a minute begins for it with what it hears next.
      await reloadAt(page, at);
      if (way === "by a link") await openOverview();
      const note = page
        .getByRole("region", { name: "Throughput", exact: true })
        .getByText(/completed in the last hour/);
      const completed = async (): Promise<number> => Number.parseInt((await note.textContent()) ?? "", 10);
      const before = await completed();
      const ended = page.locator(".ends").getByRole("link", { name: /Completed/ });
      await page.clock.runFor(200);
      const endedBefore = await ended.textContent();
      await end("complete", { result: 1 });
      await expect
        .poll(async () => {
          await page.clock.runFor(20);
          return ended.textContent();
        })
        .not.toBe(endedBefore);
      await page.clock.runFor(500);
      await expect.poll(completed).toBe(before + 1);
    },
  );

  it("answers whether it is well in five figures, of a span that survives a reload", async () => {
    await end("complete", { result: "done" });
    await world.call("POST", "/api/workers/openai/pause", { reason: "drill" });
    await world.call("POST", "/api/workers/openai/resume");
    const { page, faults } = await world.open("", { viewport: { width: 1440, height: 900 } });
    const tile = (name: string) => page.getByRole("region", { name, exact: true });
    for (const name of ["Error rate", "Throughput", "Wait", "Capacity", "Cost and budget"]) {
      await tile(name).getByRole("img").first().waitFor();
      expect((await tile(name).boundingBox())?.y).toBeLessThan(700);
    }
    await tile("Cost and budget").getByText("in the last hour").waitFor();
    await page.getByRole("radio", { name: "7 days" }).check({ force: true });
    await tile("Error rate").getByText("in the last 7 days").waitFor();
    await page.reload();
    await tile("Throughput").getByText("in the last 7 days").waitFor();
    expect(await page.getByRole("radio", { name: "7 days" }).isChecked()).toBe(true);
    const meanwhile = page.getByRole("list", { name: "What happened meanwhile" });
    for (const says of ["openai paused", "openai resumed"]) await meanwhile.getByText(says).waitFor();
    expect(faults()).toEqual([]);
  });

  it("says of no hour that it had less under way than there is now", async () => {
    const { page } = await world.show("");
    const capacity = page.getByRole("region", { name: "Capacity", exact: true });
    const figures = async (): Promise<number[]> =>
      ((await capacity.textContent()) ?? "").match(/\d+(?= of| in)/g)?.map(Number) ?? [];
    await capacity.getByText("places now").waitFor();
    const [before = 0] = await figures();
    const dispatch = () => world.call<Job>("POST", "/dispatch", { prompt: "now", provider: "openai" });
    const jobs = await Promise.all(Array.from({ length: 9 }, dispatch));
    await capacity.getByText(`${before + 9} of`).waitFor();
    const [now = 0, most = 0] = await figures();
    expect([now, most]).toEqual([before + 9, Math.max(before + 9, most)]);
    for (const { id, lease } of jobs) await world.call("POST", `/api/jobs/${id}/complete`, { lease, result: "done" });
  });

  it("keeps the longest figure in its tile on a tablet", async () => {
    const { page } = await world.open("", { viewport: { width: 820, height: 1180 } });
    const tile = page.getByRole("region", { name: "Wait" });
    await tile.waitFor();
    const [inside, room] = await tile.locator(".tile-figure").evaluate((figure) => {
      const unit = document.createElement("span");
      unit.className = "tile-unit";
      unit.textContent = " p95";
      const number = figure.querySelector(".tile-number") ?? figure;
      number.textContent = "119 min 59 s";
      figure.append(unit);
      return [figure.scrollWidth, figure.clientWidth];
    });
    expect(inside).toBeLessThanOrEqual(room ?? 0);
  });

  it("shows how long jobs wait and run, by what ran them", async () => {
    const usage = { input_tokens: 3, output_tokens: 9 };
    await end("complete", { result: "done", usage, model: "qwen" });
    const { page, faults } = await world.open("");
    const waits = table(page, /wait and run, by model/);
    await waits.getByRole("row").filter({ hasText: "qwen" }).getByText("1", { exact: true }).waitFor();
    await page.getByRole("radio", { name: "worker", exact: true }).check({ force: true });
    await table(page, /wait and run, by worker/)
      .getByRole("row")
      .filter({ hasText: "openai" })
      .waitFor();
    await page.close();
    expect(faults()).toEqual([]);
  });

  it("shows the whole fleet by provider, and what of it does not work", async () => {
    await present("pa", {
      instance: "pa-1",
      provider: "pa",
      concurrency: 3,
      unavailable: "its runtime does not answer",
    });
    const { page } = await world.show("");
    const row = table(page, /The fleet by provider/)
      .getByRole("row")
      .filter({ hasText: "pa" });
    await row.getByRole("link", { name: "1 unavailable" }).waitFor();
    await page.getByRole("link", { name: "Worker pa-1 is unavailable: its runtime does not answer" }).waitFor();
    await present("pa", { instance: "pa-1", provider: "pa", concurrency: 3 });
    await row.getByText("0/3").waitFor();
    expect(await page.getByText("pa-1 is unavailable").count()).toBe(0);
  });

  it("comes compressed to a browser that takes it so", async () => {
    const html = await (await fetch(world.server.url)).text();
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(html)?.[1] ?? "";
    const answer = await fetch(world.server.url + script, { headers: { "accept-encoding": "gzip" } });
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect(answer.headers.get("vary")).toMatch(/accept-encoding/i);
    const plain = await fetch(world.server.url + script, { headers: { "accept-encoding": "identity" } });
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(await answer.text()).toBe(await plain.text());
    const headers = { authorization: `Bearer ${world.server.adminKey}` };
    const socket = new WebSocket(`${world.server.url.replace("http", "ws")}/live`, { headers });
    await once(socket, "open");
    expect(socket.extensions).toBe("permessage-deflate");
    socket.terminate();
  });

  it("shows whose turn is next where several wait for the same, with weights and shares, and else nothing", async () => {
    const wait = (fairness_key: string) =>
      world.call("POST", "/api/jobs", { prompt: "x", tags: ["a100"], fairness_key });
    await wait("ada");
    const { page, faults } = await world.show("");
    await table(page, /that wait, by reason/).waitFor();
    expect(await page.getByRole("region", { name: "Whose turn is next" }).count()).toBe(0);
    for (const who of ["ada", "grace", "grace", "linus"]) await wait(who);
    const turns = table(page, /Fair turns of jobs that ask for any provider · a100/);
    const grace = turns.getByRole("row").filter({ hasText: "grace" });
    await grace.getByText("33 %").waitFor();
    // Two keys may name the same person.
    await grace.getByText("grace · key first admin key").waitFor();
    await expect
      .poll(async () => (await grace.getByRole("cell").allInnerTexts()).slice(1))
      .toEqual(["normal", "2", "1", "33\u00a0%"]);
    await page.getByText("any provider · a100: 3 flows").waitFor();
    await world.call("POST", "/api/jobs/bulk", { action: "cancel", filter: { tag: "a100" } });
    await expect.poll(() => turns.count()).toBe(0);
    expect(faults()).toEqual([]);
  });

  it("shows a reached budget, and its signal is amber, then red once all wait for it", async () => {
    const underWay = await world.call<Job>("POST", "/dispatch", { prompt: "under way", provider: "openai" });
    await world.call("POST", `/api/jobs/${underWay.id}/start`, { lease: underWay.lease });
    await end("complete", { result: 1, cost_usd: 3 });
    await world.call("PUT", "/config", { budget: { day_usd: 1 } });
    const { page, faults } = await world.show("");
    await page.getByText("Caution: the day's budget of $1.00 is reached").waitFor();
    await page.getByRole("link", { name: /The day's budget is reached: \$3\.00 of \$1\.00/ }).waitFor();
    await page.getByText("Today: $3.00 of $1.00").waitFor();
    await expect.poll(() => page.locator(".budget-stop").count()).toBe(1);
    await world.call("POST", "/api/jobs", { prompt: "must wait", provider: "openai" });
    const cancelUnderWay = () =>
      Promise.all(
        ["assigned", "running"].map((status) =>
          world.call("POST", "/api/jobs/bulk", { action: "cancel", filter: { status } }),
        ),
      );
    const stop = page.getByText("Stop: the day's budget of $1.00 is reached");
    await expect.poll(() => cancelUnderWay().then(() => stop.isVisible()), { timeout: 15_000 }).toBe(true);
    const reason = page.getByRole("table", { name: /that wait, by reason/ }).getByRole("link");
    // In the reader's time, as everywhere.
    await expect
      .poll(() => reason.allTextContents())
      .toEqual([expect.stringMatching(/it resets at \w{3} \d+ \w{3}, /)]);
    expect(faults()).toEqual([]);
  });
});
