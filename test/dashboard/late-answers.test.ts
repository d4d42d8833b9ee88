// Answers and timers that come late: what is newer stays, and nobody misses a refusal.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { register } from "./acting-worker.ts";
import { lacksBrowser, startWorld, type World } from "./browser.ts";
import { jumps, watchShifts } from "./jumps.ts";

const POLL_MS = 15_000;
/** Beyond the time for which a new page waits to appear as a whole. */
const READ_MS = 1_500;
const STEP_MS = 250;

describe.skipIf(lacksBrowser())("a late answer", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
    await world.untilWorker();
    await register(world, "box-1", { concurrency: 5 });
  }, 90_000);
  afterAll(() => world?.close());

  /** Holds the next answer to such a request until `release`. */
  const hold = async (page: Page, address: string | RegExp, method: string) => {
    const held = Promise.withResolvers<void>();
    const isOpen = Promise.withResolvers<void>();
    await page.route(address, async (route) => {
      if (route.request().method() !== method) return route.continue();
      const response = await route.fetch();
      held.resolve();
      await isOpen.promise;
      await route.fulfill({ response });
    });
    return { held: held.promise, release: () => isOpen.resolve() };
  };

  it("of the poll of workers does not undo what a message told meanwhile", async () => {
    const { page } = await world.visit("/");
    await page.clock.install();
    await page.goto(`${world.server.url}/#key=${world.server.adminKey}`);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.goto(`${world.server.url}/#/fleet`);
    const row = page.getByRole("row").filter({ hasText: "box-1" });
    await row.getByText("idle").waitFor();
    const poll = await hold(page, /\/api\/workers\?limit=200$/, "GET");
    await page.clock.fastForward(POLL_MS);
    await poll.held;
    await world.call("POST", "/api/workers/box-1/pause", { reason: "new fans" });
    await row.getByText("new fans").waitFor();
    const answered = page.waitForResponse(/\/api\/workers\?limit=200$/);
    poll.release();
    await (await answered).finished();
    await page.clock.runFor(500);
    expect(await row.getByText("new fans").isVisible()).toBe(true);
    await world.call("POST", "/api/workers/box-1/resume");
  });

  it("of the list of workers shows who fell silent, of which no message tells", async () => {
    const { page } = await world.open("");
    await page.route(/\/api\/workers\?.*summary=true/, async (route) => {
      const response = await route.fetch();
      const answer: { workers: { instance: string; status: string }[] } = await response.json();
      for (const worker of answer.workers) if (worker.instance === "box-1") worker.status = "offline";
      await route.fulfill({ response, json: answer });
    });
    await page.getByRole("link", { name: "Fleet", exact: true }).click();
    await page.getByRole("row").filter({ hasText: "box-1" }).getByText("offline").waitFor({ timeout: 5000 });
  });

  it("of the killswitch does not undo a confirmation that came before it", async () => {
    const { page } = await world.open("");
    const answer = await hold(page, "**/killswitch", "POST");
    await page.getByRole("button", { name: "Killswitch" }).click();
    await page.getByLabel("Reason").fill("drill");
    await page.getByRole("button", { name: "Engage level 1" }).click();
    await answer.held;
    const banner = page.getByRole("region", { name: "Killswitch" });
    await banner.getByText("1 of 2").waitFor();
    answer.release();
    await page.getByText("Killswitch engaged at level 1.").waitFor();
    await banner.getByText("1 of 2").waitFor();
    // An alert whose text changes is announced again, and a time changes with each second.
    expect(await banner.getByRole("alert").locator("time").count()).toBe(0);
    await world.call("DELETE", "/killswitch?resume_all=true");
  });

  it("that refuses is told also to one who closed the dialog", async () => {
    const { id } = await world.call<{ id: string }>("POST", "/api/jobs", { prompt: "gone", tags: ["nobody"] });
    const { page } = await world.open(`jobs/${id}`);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await world.call("POST", `/api/jobs/${id}/cancel`);
    const answer = await hold(page, `**/api/jobs/${id}/cancel`, "POST");
    await page.getByRole("button", { name: "Cancel the job" }).click();
    await answer.held;
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
    answer.release();
    await page.locator(".notice-failed").getByText("cancelled").waitFor();
  });

  it("to who saves how people sign in is waited for: a second press sends nothing", async () => {
    const { page } = await world.open("settings/sign-in");
    await page.getByLabel("Sign-in as JSON").waitFor();
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.url().endsWith("/api/sign-in")) sent.push(request.method());
    });
    await page.route("**/api/sign-in", (route) =>
      route.request().method() === "PUT" ? route.abort() : route.continue(),
    );
    await page.getByRole("button", { name: "Save" }).dblclick();
    await page.getByRole("alert").waitFor();
    expect(sent).toEqual(["GET", "PUT"]);
    await page.getByRole("button", { name: "Save" }).click();
    await expect.poll(() => sent.length).toBe(4);
  });

  it("to another span leaves the figures under the name of their own", async () => {
    const { page } = await world.open("cost");
    await page.getByRole("heading", { name: "Today" }).waitFor();
    await page.route("**/api/cost?**", (route) => route.abort());
    await page.getByLabel("Span").selectOption("yesterday");
    await page.getByRole("alert").first().waitFor();
    await page.getByRole("heading", { name: "Today" }).waitFor();
    expect(await page.getByRole("heading", { name: "Yesterday" }).count()).toBe(0);
  });

  it("of a page opened while the connection was away is asked for when it is back", async () => {
    for (const [place, shown] of [
      ["cost", "Budget"],
      ["settings", "config.yaml"],
    ] as const) {
      const { page } = await world.open("");
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      await page.context().setOffline(true);
      await page.getByText("Connection lost.").waitFor();
      await page.goto(`${world.server.url}/#/${place}`);
      await page.getByRole("alert").filter({ hasText: "Try again" }).waitFor();
      await page.context().setOffline(false);
      await page.getByRole("heading", { name: shown }).waitFor();
    }
  });

  it("of a page whose code is not there while the connection is away says when it comes", async () => {
    const { page } = await world.open("");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.context().setOffline(true);
    await page.getByText("Connection lost.").waitFor();
    await page.goto(`${world.server.url}/#/models`);
    await page.getByText("It is loaded when the connection is back.").waitFor();
    await page.context().setOffline(false);
    await page.getByText("It is loaded when the connection is back.").waitFor({ state: "detached" });
  });

  it("of a page that was read before the connection was lost is asked for again when it is back", async () => {
    const { page } = await world.open("settings/keys");
    await page.getByRole("row", { name: /admin/ }).first().waitFor();
    await page.context().setOffline(true);
    await page.getByText("Connection lost.").waitFor();
    const { id } = await world.call<{ id: string }>("POST", "/api/keys", { name: "made meanwhile", role: "viewer" });
    await page.context().setOffline(false);
    await page.getByRole("row", { name: /made meanwhile/ }).waitFor();
    await world.call("DELETE", `/api/keys/${id}`);
  });

  it("of a connection that breaks off again and again is waited for longer each time", async () => {
    const { page } = await world.visit("/");
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + POLL_MS);
    let opened = 0;
    await page.routeWebSocket(/\/live$/, (socket) => {
      opened += 1;
      socket.connectToServer().onMessage((snapshot) => {
        socket.send(snapshot);
        void socket.close();
      });
    });
    await page.goto(`${world.server.url}/#key=${world.server.adminKey}`);
    const stepsUntil = async (count: number): Promise<number> => {
      for (let steps = 0; ; steps += 1) {
        if (opened >= count) return steps;
        await page.clock.runFor(STEP_MS);
        await page.evaluate(() => fetch("/health").then(({ status }) => status));
      }
    };
    await stepsUntil(4);
    // The fourth time it is about four seconds, the first time half of one.
    expect(await stepsUntil(5)).toBeGreaterThan(10);
  });

  it("of a list that is read again when the connection is back has the numbers of its chips", async () => {
    const { id } = await world.call<{ id: string }>("POST", "/api/jobs", { prompt: "blue job", tags: ["blue"] });
    const { page } = await world.open("jobs?tag=blue");
    const pending = page.locator(".chip-pending");
    await pending.getByText("1", { exact: true }).waitFor();
    await page.context().setOffline(true);
    await page.getByText("Connection lost.").waitFor();
    await world.call("PATCH", `/api/jobs/${id}`, { tags: ["nobody"] });
    await page.context().setOffline(false);
    await page.getByText("No job matches.").waitFor();
    await pending.getByText("0", { exact: true }).waitFor({ timeout: 5000 });
  });

  it("is not taken for silence where the page was hidden and its timers slept", async () => {
    const { page } = await world.visit("/");
    let opened = 0;
    let pongs = 0;
    page.on("websocket", (socket) => {
      opened += 1;
      socket.on("framereceived", ({ payload }) => {
        pongs += Number(payload === "pong");
      });
    });
    await page.clock.install();
    await page.goto(`${world.server.url}/#key=${world.server.adminKey}`);
    await page.getByText("Live", { exact: true }).waitFor();
    // Workers are polled once some are known.
    await page.locator(".signal-dark").waitFor({ state: "detached" });
    for (let minute = 0; minute < 2; minute += 1) {
      // A minute without the answer would be silence.
      await expect.poll(() => pongs).toBe(minute + 1);
      const polled = page.waitForResponse(/\/api\/workers\?limit=200$/, { timeout: 5000 });
      await page.clock.fastForward(60_000);
      await polled;
    }
    expect(opened).toBe(1);
  });

  it("finds its place kept on a phone: nothing that is read moves", async () => {
    const { page } = await world.open("", { viewport: { width: 390, height: 844 } });
    await watchShifts(page);
    await page.route(/\/(api|config|catalog)\b/, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, READ_MS));
      await route.continue();
    });
    for (const [place, shown] of [
      ["", "Capacity"],
      ["fleet/box-1", "Load"],
    ] as const) {
      await page.goto("about:blank");
      await page.goto(`${world.server.url}/#/${place}`);
      await page.getByRole("region", { name: shown, exact: true }).waitFor();
      await expect.poll(() => page.locator(".loading").count()).toBe(0);
      expect(await jumps(page)).toEqual([]);
    }
  }, 60_000);

  it("of the first connection makes no list be read again", async () => {
    await world.call("POST", "/api/jobs", { prompt: "listed once", tags: ["nobody"] });
    const { page } = await world.open("jobs");
    await page.locator("tr[data-job]").first().waitFor();
    let reads = 0;
    page.on("request", (request) => {
      if (/\/api\/jobs\?.*limit=50/.test(request.url())) reads += 1;
    });
    await page.reload();
    await page.getByText("Live", { exact: true }).waitFor();
    await page.locator("tr[data-job]").first().waitFor();
    await page.waitForLoadState("networkidle");
    expect(reads).toBe(1);
  });
});
