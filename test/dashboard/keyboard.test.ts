// A bad night with the keyboard alone: what fails is found, retried, explained and stopped without a pointer, and the
// focus is never lost, hidden, or outside an open dialog.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ActingWorker, register } from "./acting-worker.ts";
import { lacksBrowser, startWorld, type World } from "./browser.ts";

const MOST_PRESSES = 90;

interface Focus {
  readonly says: string;
  readonly tag: string;
  readonly isSeen: boolean;
  readonly isInDialog: boolean;
}

const focusOf = (page: Page): Promise<Focus> =>
  page.evaluate(() => {
    const at = document.activeElement ?? document.body;
    const { top, bottom } = at.getBoundingClientRect();
    return {
      says: (at.getAttribute("aria-label") ?? at.textContent ?? "").trim(),
      tag: at.tagName,
      isSeen:
        at.tagName === "H1" || (getComputedStyle(at).outlineStyle !== "none" && top >= 0 && bottom <= innerHeight),
      isInDialog: at.closest("dialog") !== null,
    };
  });

/** Everything but the document itself, which has the focus when nothing has it. */
const isKept = (page: Page): Promise<void> => expect.poll(async () => (await focusOf(page)).tag).not.toBe("BODY");

const tabTo = async (page: Page, says: string, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> => {
  for (let presses = 0; presses < MOST_PRESSES; presses += 1) {
    await page.keyboard.press(key);
    const focus = await focusOf(page);
    if (!focus.says.startsWith(says)) continue;
    expect(focus.isSeen).toBe(true);
    return;
  }
  throw new Error(`${says} is not reached by ${key}`);
};

/** Typed at once, as by somebody in a hurry. */
const command = async (page: Page, words: string, option: string): Promise<void> => {
  await page.keyboard.press("Control+k");
  await page.keyboard.type(words);
  await page.getByRole("option", { name: option, selected: true }).waitFor();
  await page.keyboard.press("Enter");
};

describe.skipIf(lacksBrowser())("a bad night by keyboard", () => {
  let world: World;
  let worker: ActingWorker;
  beforeAll(async () => {
    world = await startWorld({ hasWorker: false });
  }, 90_000);
  beforeEach(async () => {
    worker = await register(world, "box-1", { concurrency: 100 });
  });
  afterAll(() => world?.close());

  const failed = async (prompt: string): Promise<string> => {
    const { id } = await world.call<{ id: string }>("POST", "/api/jobs", { prompt, provider: "acme" });
    await worker.fail(id, { code: "model_broke", message: "out of memory", retryable: false });
    return id;
  };

  it("retries in bulk what fails, and the focus outlives the row that it was in", async () => {
    for (const prompt of ["First", "Second"]) await failed(prompt);
    const { page, faults } = await world.open("");
    await page.getByRole("button", { name: "Retry these: model_broke, acme" }).waitFor();
    await tabTo(page, "Retry these: model_broke");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText("2 jobs failed").waitFor();
    await tabTo(page, "Retry 2 jobs");
    await page.keyboard.press("Enter");
    await page.getByRole("status").getByText("2 jobs are back in the queue.").waitFor();
    await page.getByText("Nothing failed in the last hour.").waitFor();
    await isKept(page);
    expect(faults()).toEqual([]);
  });

  it.each([
    ["that zooming makes", { width: 320, height: 256 }],
    ["of a desktop", { width: 1280, height: 400 }],
  ])("no bar covers what has the focus on a page %s", async (_, viewport) => {
    const { page } = await world.open("jobs/new", { viewport });
    await page.getByRole("heading", { name: "New job" }).waitFor();
    const covered: string[] = [];
    for (const key of ["Tab", "Shift+Tab"])
      for (let presses = 0; presses < 40; presses += 1) {
        await page.keyboard.press(key);
        const hidden = await page.evaluate(() => {
          const at = document.activeElement;
          if (at?.closest(".page") == null) return null;
          const { left, top, width, height } = (at.closest("label") ?? at).getBoundingClientRect();
          const isFree = [2, height / 2, height - 2].some((down) => {
            const over = document.elementFromPoint(left + width / 2, top + down);
            return over !== null && over.closest(".top-bar, .nav") === null;
          });
          return isFree ? null : (at.closest("label") ?? at).textContent || at.outerHTML.slice(0, 60);
        });
        if (hidden !== null) covered.push(`${key}: ${hidden}`);
      }
    expect(covered).toEqual([]);
  });

  it("comes to the last page of the navigation in the window of a phone on its side", async () => {
    const { page } = await world.open("jobs/new", { viewport: { width: 844, height: 390 } });
    await page.getByRole("heading", { name: "New job" }).waitFor();
    await tabTo(page, "Settings");
  });

  it("goes on from a phone's More to what it opens, and Escape leads back", async () => {
    const { page } = await world.open("cost", { viewport: { width: 320, height: 640 } });
    await page.getByRole("button", { name: "More" }).focus();
    for (const key of ["Enter", "Tab"]) await page.keyboard.press(key);
    expect((await focusOf(page)).says).toBe("Batches");
    await page.keyboard.press("Escape");
    expect((await focusOf(page)).says).toBe("More");
  });

  it("pauses and resumes a worker from the palette, which hears what is typed from the first letter on", async () => {
    const { page, faults } = await world.open("fleet");
    await tabTo(page, "Columns");
    await command(page, "pause box-1", "Pause box-1 action");
    await page.getByRole("dialog", { name: "Pause box-1" }).waitFor();
    expect((await focusOf(page)).isInDialog).toBe(true);
    await page.keyboard.type("smells burnt");
    await page.keyboard.press("Enter");
    await page.getByRole("status").getByText("box-1 is paused.").waitFor();
    await expect.poll(async () => (await focusOf(page)).says).toBe("Columns");
    await command(page, "resume box-1", "Resume box-1 action");
    await page.getByRole("status").getByText("box-1 takes jobs again.").waitFor();
    await expect.poll(async () => (await focusOf(page)).says).toBe("Columns");
    expect(faults()).toEqual([]);
  });

  it("engages the killswitch, clears it from the banner and from the palette, and keeps the focus in each dialog", async () => {
    const { page, faults } = await world.open("cost");
    const engage = async (said: string): Promise<void> => {
      await command(page, said, "Killswitch action");
      await page.getByRole("dialog", { name: "Engage the killswitch" }).waitFor();
      await page.keyboard.press("Tab");
      await page.keyboard.type("smoke");
      await page.keyboard.press("Enter");
      await page.getByRole("alert").getByText("Line stopped: level 1").waitFor();
      await isKept(page);
    };
    await engage("kill");
    await tabTo(page, "Clear …", "Shift+Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Clear the killswitch" }).waitFor();
    for (let presses = 0; presses < 6; presses += 1) {
      await page.keyboard.press("Tab");
      const { isInDialog, tag } = await focusOf(page);
      // The browser's own bar is between the last and the first.
      expect(isInDialog || tag === "BODY").toBe(true);
    }
    await tabTo(page, "Clear the killswitch");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByRole("region", { name: "Killswitch" }).count()).toBe(0);
    await expect.poll(async () => (await focusOf(page)).tag).toBe("H1");
    // By what is wanted, where its name does not come to mind.
    await engage("stop");
    await command(page, "resume all", "Clear the killswitch action");
    await tabTo(page, "Clear the killswitch");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByRole("region", { name: "Killswitch" }).count()).toBe(0);
    await isKept(page);
    expect(faults()).toEqual([]);
  });

  it("finds a job by its words, copies its trace's id, and zooms its waterfall in and out", async () => {
    await failed("Derailed at block 14");
    const { page, faults } = await world.open("", { permissions: ["clipboard-read", "clipboard-write"] });
    await command(page, "derailed", "Derailed at block 14 job");
    await page.getByRole("heading", { name: "Derailed at block 14" }).waitFor();
    await tabTo(page, "Zoom");
    await page.keyboard.press("Enter");
    expect((await focusOf(page)).says).toBe("Zoom");
    await tabTo(page, "Whole", "Shift+Tab");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await focusOf(page)).says).toBe("Zoom");
    await tabTo(page, "Copy trace id");
    await page.keyboard.press("Enter");
    await page.getByRole("status").getByText("Copied.").waitFor();
    expect(faults()).toEqual([]);
  });

  it("keeps the focus at a dispatch that is refused, with the refusal in view on a phone", async () => {
    const { page } = await world.open("jobs/new", { viewport: { width: 390, height: 844 } });
    await page.getByLabel("Prompt").fill("refused");
    await page.getByLabel("Tags").fill("h100");
    await page.getByRole("button", { name: "Dispatch now" }).focus();
    await page.keyboard.press("Enter");
    const refusal = page.getByRole("alert").filter({ hasText: "No eligible workers" });
    await refusal.waitFor();
    expect((await focusOf(page)).says).toBe("Dispatch now");
    const { y = 0, height = 0 } = (await refusal.boundingBox()) ?? {};
    expect([y >= 0, y + height <= 844]).toEqual([true, true]);
  });

  it("selects and retries jobs of the list, and turns its pages, with the focus in view", async () => {
    const jobs = Array.from({ length: 55 }, (_, at) => ({ prompt: `Stuck ${at}`, tags: ["nobody"] }));
    await world.call("POST", "/api/jobs/batch", { jobs });
    const { page, faults } = await world.open("jobs?q=stuck");
    await page.getByRole("link", { name: "Stuck 54" }).waitFor();
    for (const key of ["j", "x"]) await page.keyboard.press(key);
    await tabTo(page, "Cancel …", "Shift+Tab");
    await page.keyboard.press("Enter");
    await tabTo(page, "Cancel 1 job");
    await page.keyboard.press("Enter");
    await page.getByRole("status").getByText("1 job is cancelled.").waitFor();
    await page.getByText("none selected").waitFor();
    await isKept(page);
    await tabTo(page, "Next", "Shift+Tab");
    await page.keyboard.press("Enter");
    // It is the last page: Next is off.
    await expect.poll(() => focusOf(page)).toMatchObject({ says: "Previous", isSeen: true });
    await page.keyboard.press("Enter");
    await expect.poll(() => focusOf(page)).toMatchObject({ says: "Next", isSeen: true });
    expect(faults()).toEqual([]);
  });
});
