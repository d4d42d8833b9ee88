// What a fresh document asks for, and when: the live connection before the page's code is there, and each read once.

import type { Page, WebSocket } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lacksBrowser, startWorld, type World } from "./browser.ts";

const CODE = /\/assets\/index-[^/]*\.js$/;

/** Holds the page's own code back until it is let go. */
const holdCode = async (page: Page): Promise<() => void> => {
  let letGo = (): void => undefined;
  const isFree = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route(CODE, async (route) => {
    await isFree;
    await route.continue();
  });
  return letGo;
};

const socketsOf = (page: Page): WebSocket[] => {
  const all: WebSocket[] = [];
  page.on("websocket", (socket) => all.push(socket));
  return all;
};

const readsOf = (page: Page): string[] => {
  const all: string[] = [];
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname.startsWith("/api/")) all.push(pathname + search);
  });
  return all;
};

const isLive = (page: Page) => page.getByText("Live", { exact: true }).waitFor();

describe.skipIf(lacksBrowser())("a fresh document", () => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld();
    await world.untilWorker();
    await world.call("POST", "/api/jobs", { prompt: "waits for nobody", tags: ["nobody"] });
  }, 90_000);
  afterAll(() => world?.close());

  it("opens the live connection while its code is loading, and goes on with it", async () => {
    const { page, faults } = await world.open("jobs");
    const sockets = socketsOf(page);
    const letGo = await holdCode(page);
    await page.reload({ waitUntil: "commit" });
    await expect.poll(() => sockets.length).toBe(1);
    // A slow line is no white page.
    await page.getByText("Connecting …").waitFor();
    letGo();
    await isLive(page);
    await page.getByRole("link", { name: "waits for nobody" }).waitFor();
    expect(await page.getByText("Connecting …").count()).toBe(0);
    expect(sockets.map((one) => one.isClosed())).toEqual([false]);
    expect(faults()).toEqual([]);
  });

  it("lets that connection go if another tab has signed in meanwhile", async () => {
    const { page, faults } = await world.open("jobs");
    const sockets = socketsOf(page);
    const letGo = await holdCode(page);
    await page.reload({ waitUntil: "commit" });
    await expect.poll(() => sockets.length).toBe(1);
    await page.evaluate(() => localStorage.setItem("signalbox.signed-in", "another"));
    letGo();
    await isLive(page);
    await expect.poll(() => sockets.map((one) => one.isClosed())).toEqual([true, false]);
    expect(faults()).toEqual([]);
  });

  it("opens none where nobody is signed in, or for an address with a key", async () => {
    const { page } = await world.visit("/");
    const sockets = socketsOf(page);
    await page.reload();
    await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
    expect(sockets).toEqual([]);
    const { page: known } = await world.open("jobs");
    const letGo = await holdCode(known);
    const early = socketsOf(known);
    await known.goto("about:blank");
    await known.goto(`${world.server.url}/#key=sk_nothing`, { waitUntil: "commit" });
    // Its own code asks for the session after that.
    await known.waitForFunction(
      () => performance.getEntriesByName("first-contentful-paint").length > 0 || performance.now() > 1_000,
    );
    expect(early).toEqual([]);
    letGo();
    await known.getByRole("button", { name: "Sign out and use the other key" }).waitFor();
  });

  it("opens none after the session's end, which the browser remembers, and so writes no error of its own", async () => {
    const { page } = await world.open("jobs");
    const kept = "signalbox.signed-in";
    const [signedInAt = "", endsAt = ""] =
      (await page.evaluate((name) => localStorage.getItem(name), kept))?.split(" ") ?? [];
    expect(Date.parse(endsAt)).toBeGreaterThan(Number(signedInAt));
    await page.context().clearCookies();
    await page.evaluate(
      ([name = "", hint = ""]) => localStorage.setItem(name, hint),
      [kept, `${signedInAt} 2026-01-01T00:00:00.000Z`],
    );
    const sockets = socketsOf(page);
    await page.reload();
    await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
    expect(sockets).toEqual([]);
  });

  it("reads the fleet once, and its grid without waiting for the live connection", async () => {
    const { page } = await world.open("");
    const reads = readsOf(page);
    let tell = (): void => undefined;
    await page.routeWebSocket(/\/live$/, (socket) => {
      const server = socket.connectToServer();
      const held: (string | Buffer)[] = [];
      let isHeld = true;
      server.onMessage((message) => {
        if (isHeld) held.push(message);
        else socket.send(message);
      });
      tell = () => {
        isHeld = false;
        for (const message of held) socket.send(message);
      };
    });
    await page.goto("about:blank");
    const listed = page.waitForResponse(/\/api\/workers\?.*summary=true/);
    await page.goto(`${world.server.url}/#/fleet`);
    await page.getByRole("link", { name: "local-worker" }).waitFor();
    expect((await listed).headers()["content-encoding"]).toBe("gzip");
    await expect.poll(() => reads.filter((one) => one.startsWith("/api/fleet"))).toHaveLength(1);
    tell();
    await isLive(page);
    await page.getByText("1 registered, 1 present").waitFor();
    expect(reads.filter((one) => one.startsWith("/api/workers?"))).toHaveLength(1);
  });

  it("counts the jobs of each status by what the live connection tells, and those of a filter by a read each", async () => {
    const { page } = await world.open("");
    await page.goto("about:blank");
    const reads = readsOf(page);
    await page.goto(`${world.server.url}/#/jobs`);
    const chip = page.getByRole("group", { name: "State" }).getByRole("button", { name: "pending" });
    await expect.poll(() => chip.textContent()).toBe("pending 1");
    await page.getByRole("link", { name: "waits for nobody" }).waitFor();
    expect(reads.filter((one) => one.startsWith("/api/jobs?"))).toHaveLength(1);
    await page.goto(`${world.server.url}/#/jobs?q=nobody`);
    await expect.poll(() => chip.textContent()).toBe("pending 1");
    const counted = reads.filter((one) => one.includes("count_only=true"));
    expect(counted).toHaveLength(1);
    expect(counted[0]).toContain("status=pending");
  });

  it("is what shows a page whose code has gone with an update", async () => {
    const { page } = await world.open("");
    let isUpdated = false;
    await page.route(/\/assets\/models-[^/]*\.js$/, (route) =>
      isUpdated ? route.continue() : route.fulfill({ status: 404 }),
    );
    await page.route(`${world.server.url}/`, (route) => {
      isUpdated = true;
      return route.continue();
    });
    await page.getByRole("link", { name: "Models", exact: true }).click();
    await page.getByText("Its code could not be loaded").waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Its code could not be loaded").waitFor({ state: "hidden" });
    await page.getByRole("heading", { name: "Models", exact: true }).waitFor();
    expect(isUpdated).toBe(true);
  });
});
