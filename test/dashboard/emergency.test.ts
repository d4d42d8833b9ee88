// The killswitch, and a lost connection: what an operator must be able to rely on.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { succeed } from "../support/requests.ts";
import { freePort, startSelfHosted } from "../support/self-hosted.ts";
import { lacksBrowser, startWorld, type World, worldForTests } from "./browser.ts";

const MINUTE_MS = 60_000;
const PING_EVERY_MS = 15_000;
/** A schedule that runs each second misses at least one. */
const SEVERAL_RUNS_MS = 3_000;

describe.skipIf(lacksBrowser())("in an emergency", () => {
  let world: World;
  worldForTests(startWorld, async (started) => {
    world = started;
    await world.untilWorker();
  });

  it("the killswitch asks for a typed word from level 3 on, is unmistakable, counts who confirmed, and clears", async () => {
    const { page, faults } = await world.show("schedules");
    await page.getByRole("button", { name: "Killswitch" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByRole("button", { name: "Engage level 1" }).isEnabled()).toBe(true);
    await dialog.getByLabel("Reason").fill("points failure at block 14");
    await dialog.getByRole("radio", { name: "Level 3: Refuse new jobs" }).press("Space");
    const engage = dialog.getByRole("button", { name: "Engage level 3" });
    expect(await engage.isDisabled()).toBe(true);
    await dialog.getByLabel("Type HALT to confirm level 3").fill("halt");
    await engage.click();
    const banner = page.getByRole("region", { name: "Killswitch" });
    await banner.getByText("Line stopped: level 3").waitFor();
    await banner.getByText("points failure at block 14").waitFor();
    await banner.getByText("1 of 1").waitFor();
    await page.goto(`${world.server.url}/#/`);
    await page.getByText("Stop: killswitch level 3").waitFor();
    await banner.getByRole("button", { name: "Clear …" }).click();
    await page.getByRole("button", { name: "Clear the killswitch" }).click();
    await page.getByText("Clear: 1 free place").waitFor();
    expect(await banner.count()).toBe(0);
    expect(faults()).toEqual([]);
  });

  it("a killswitch engaged elsewhere shows at once", async () => {
    const { page } = await world.show("jobs");
    await world.call("POST", "/killswitch", { level: 1, reason: "engaged by another" });
    await page.getByText("Line stopped: level 1").waitFor();
    await world.call("DELETE", "/killswitch?resume_all=true");
    await expect.poll(() => page.getByText("Line stopped").count()).toBe(0);
    await world.call("POST", "/killswitch", { level: 2 });
    const alert = page.getByRole("region", { name: "Killswitch" }).getByRole("alert");
    expect(await alert.innerText()).toBe("Line stopped: level 2, stop schedules");
    await world.call("DELETE", "/killswitch?resume_all=true");
    await expect.poll(() => page.getByText("Line stopped").count()).toBe(0);
  });

  it("a missing message is noticed and answered with a new snapshot", async () => {
    const { page } = await world.visit("/");
    let snapshots = 0;
    let mayDrop = true;
    await page.routeWebSocket(/\/live$/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((frame) => {
        if (String(frame).includes('"type":"snapshot"')) snapshots += 1;
        else if (mayDrop && String(frame).includes("job.updated")) {
          mayDrop = false;
          return;
        }
        socket.send(frame);
      });
    });
    await page.goto(`${world.server.url}/#key=${world.server.adminKey}`);
    await page.getByText("Live", { exact: true }).waitFor();
    expect(snapshots).toBe(1);
    await world.call("POST", "/api/jobs", { prompt: "the message about this one is lost" });
    await expect.poll(() => mayDrop).toBe(false);
    await world.call("POST", "/api/jobs", { prompt: "after the gap" });
    await expect.poll(() => snapshots).toBe(2);
    await page.getByText("Live", { exact: true }).waitFor();
  });
});

describe.skipIf(lacksBrowser())("when two stop the work at once", () => {
  it("the dialog shows what the other has set, and does not lower it unsaid", async () => {
    const world = await startWorld({ hasWorker: false });
    try {
      const { page } = await world.open("");
      await page.getByRole("button", { name: "Killswitch" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "Engage level 1" }).waitFor();
      await world.call("POST", "/killswitch", { level: 2, reason: "smoke in hall 3" });
      await dialog.getByRole("button", { name: "Set level 2" }).waitFor();
      expect(await dialog.getByLabel("Reason").inputValue()).toBe("smoke in hall 3");
      await dialog.getByRole("radio", { name: /^Level 1/ }).press("Space");
      await dialog.getByRole("button", { name: "Lower to level 1" }).waitFor();
      await dialog.getByRole("button", { name: "Keep as it is" }).click();
      await page.getByRole("button", { name: "Clear …" }).click();
      await world.call("POST", "/killswitch", { level: 3, reason: "it burns" });
      await dialog.getByText("Level 3 ends: “it burns”").waitFor();
    } finally {
      await world.close();
    }
  });
});

describe.skipIf(lacksBrowser())("when the machine wakes", () => {
  it("the page connects at once, and does not call live what is an hour old", async () => {
    const world = await startWorld({ hasWorker: false });
    try {
      const { page } = await world.visit("/");
      let isDead = false;
      let sockets = 0;
      await page.routeWebSocket(/\/live$/, (socket) => {
        sockets += 1;
        const own = sockets;
        const server = socket.connectToServer();
        const passes = (): boolean => own > 1 || !isDead;
        server.onMessage((frame) => passes() && socket.send(frame));
        socket.onMessage((frame) => passes() && server.send(frame));
      });
      await page.clock.install();
      await page.goto(`${world.server.url}/#key=${world.server.adminKey}`);
      await page.getByText("Live", { exact: true }).waitFor();
      isDead = true;
      await world.call("POST", "/api/jobs", { prompt: "made while it slept" });
      await page.clock.fastForward("01:00:00");
      await page.getByText("Pending1").waitFor();
      expect(sockets).toBe(2);
    } finally {
      await world.close();
    }
  });
});

describe.skipIf(lacksBrowser())("when the machine's clock is set", () => {
  it("the page tells times by the server's again", async () => {
    const world = await startWorld({ hasWorker: false });
    try {
      const { page } = await world.visit("/");
      await page.clock.install({ time: Date.now() + 10 * MINUTE_MS });
      await page.goto(`${world.server.url}/#key=${world.server.adminKey}`);
      await page.getByText("Live", { exact: true }).waitFor();
      await page.clock.setSystemTime(Date.now());
      await page.clock.runFor(PING_EVERY_MS);
      await page.getByText("Live", { exact: true }).waitFor();
      await world.call("POST", "/api/jobs", { prompt: "made now" });
      await page.getByRole("link", { name: "Jobs", exact: true }).click();
      await page
        .getByRole("row")
        .filter({ hasText: "made now" })
        .getByText(/ ago$|^now$/)
        .waitFor();
    } finally {
      await world.close();
    }
  });
});

describe.skipIf(lacksBrowser())("when the server goes away", () => {
  it("the page says that it is not live, and comes back with what happened since", async () => {
    const dataDir = mkdtempSync(path.join(tmpdir(), "signalbox-lost-"));
    const PORT = String(await freePort());
    const url = `http://127.0.0.1:${PORT}`;
    let server = await startSelfHosted(dataDir, { env: { PORT } });
    const { adminKey } = server;
    const world = await startWorld({ hasWorker: false });
    try {
      const { page } = await world.visit("/");
      await page.goto(`${url}/#key=${adminKey}`);
      await page.getByText("Live", { exact: true }).waitFor();
      const call = (...request: [method: string, route: string, body?: unknown]) =>
        succeed({ url, key: adminKey }, ...request);
      await call("POST", "/api/schedules", { name: "punctual", interval: "1s", prompt: "on time", tags: ["nobody"] });
      await server.kill();
      await page.getByText("Connection lost.").waitFor();
      await page.getByText("Not live", { exact: true }).waitFor();
      await pause(SEVERAL_RUNS_MS);
      server = await startSelfHosted(dataDir, { env: { PORT } });
      await call("POST", "/api/jobs", { prompt: "while you were away" });
      // It is among the last runs for as long as a busy machine takes.
      const last = async () => (await call("GET", "/api/schedules/punctual/history?limit=50")).history;
      await expect.poll(async () => (await last()).some(({ missed }: { missed: number }) => missed > 0)).toBe(true);
      await call("PUT", "/api/schedules/punctual", { status: "paused" });
      await page.getByText("Live", { exact: true }).waitFor();
      expect(await page.getByText("Connection lost.").count()).toBe(0);
      await page.getByRole("link", { name: "Pending" }).click();
      await page.getByText("while you were away").waitFor();
      // The schedules with missed runs are one action away from any page.
      await page.getByRole("link", { name: "Schedules", exact: true }).click();
      const row = page.getByRole("row").filter({ hasText: "punctual" });
      await row.getByText(/^\d+ runs? missed$/).waitFor();
    } finally {
      await server.kill();
      await world.close();
      rmSync(dataDir, { recursive: true, force: true });
    }
  }, 90_000);
});
