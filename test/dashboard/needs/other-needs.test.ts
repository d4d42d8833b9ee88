// Readers who hear the page, who write in another direction, and who print it, or see little.

import type { Page } from "playwright-core";
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

  it("is told the signal of the line in a word, and not of each job that changes its figures", async () => {
    const { page, faults } = await world.show("");
    const signal = page.locator(".signal");
    await expect.poll(() => signal.textContent()).toBe("Clear: 5 free places");
    const id = await create({ prompt: "takes a place" });
    await worker.start(id);
    await expect.poll(() => signal.textContent()).toBe("Clear: 4 free places");
    expect(await signal.getByRole("status").allTextContents()).toEqual(["Clear"]);
    expect(faults()).toEqual([]);
  });

  it("is told on a job's page what becomes of it", async () => {
    const id = await create({ prompt: "watched" });
    const { page, faults } = await world.show(`jobs/${id}`);
    const told = page.locator(".page-lead").getByRole("status");
    await told.getByText(/pending|assigned/).waitFor();
    // Only what changes within a region that was there is announced.
    await told.evaluate((region) => region.setAttribute("data-is-same", ""));
    await worker.complete(id, "done");
    await told.getByText("completed").waitFor();
    expect(await page.locator(".page-lead [role=status][data-is-same]").count()).toBe(1);
    expect(faults()).toEqual([]);
  });

  it("is told of a halt once, and when all have confirmed it, not with each that does", async () => {
    const { page, faults } = await world.show("");
    await world.call("POST", "/killswitch", { level: 1 });
    const told = page.getByRole("region", { name: "Killswitch" }).getByRole("status");
    await told.getByText("0 of 1").waitFor();
    expect(await told.getAttribute("aria-busy")).toBe("true");
    await register(world, "box-1", { concurrency: 5 });
    await told.getByText("1 of 1").waitFor();
    expect(await told.getAttribute("aria-busy")).toBe("false");
    await world.call("DELETE", "/killswitch?resume_all=true");
    await expect.poll(() => told.count()).toBe(0);
    expect(faults()).toEqual([]);
  });

  it("begins in a dialog at what is chosen", async () => {
    const id = await create({ prompt: "urgent", priority: "high", provider: "nobody" });
    const { page } = await world.show(`jobs/${id}`);
    await page.getByRole("button", { name: "Edit" }).click();
    const chosen = page.getByRole("dialog").getByRole("radio", { name: "high" });
    await expect.poll(() => chosen.evaluate((radio) => radio === document.activeElement)).toBe(true);
    await page.keyboard.press("Escape");
  });

  it("reads the sign-in page's name in the browser's tab when a session has ended", async () => {
    const { page } = await world.open("settings/audit");
    await page.getByRole("link", { name: "Audit log" }).waitFor();
    expect(await page.title()).toBe("Audit log · Settings · Signalbox");
    await page.getByRole("button", { name: "Sign out" }).first().click();
    await expect.poll(() => page.title()).toBe("Sign in · Signalbox");
  });

  it("says to a button for a person what is written on it", async () => {
    const { page } = await world.show("");
    const person = { id: "p1", email: null, role: "viewer", blocked: false, last_seen_at: "2026-11-30T12:00:00.000Z" };
    await page.route("**/api/people", (route) => route.fulfill({ json: { people: [{ ...person, name: "Ada" }] } }));
    await page.goto(`${world.server.url}/#/settings/people`);
    await page.getByRole("row", { name: "Ada" }).waitFor();
    const buttons = page.locator("tbody button");
    await expect.poll(() => buttons.count()).toBe(2);
    for (const button of await buttons.all())
      expect(await button.getAttribute("aria-label")).toContain(await button.innerText());
  });

  it("writes from right to left what is read so, but no code", async () => {
    const { page } = await world.show("jobs/new");
    const isToTheLeft = (label: string): Promise<boolean> =>
      page.getByLabel(label, { exact: true }).evaluate((field) => field.matches(":dir(rtl)"));
    await page.getByLabel("Prompt").fill("مرحبا بالعالم!");
    await page.getByText("Input, start, limits, streaming").click();
    await page.getByLabel("Input", { exact: true }).fill('{"مرحبا": 1}');
    expect([await isToTheLeft("Prompt"), await isToTheLeft("Input")]).toEqual([true, false]);
  });
});

describe.skipIf(lacksBrowser())("who prints the page, or sees little", () => {
  let world: World;
  worldForTests(
    () => startWorld({ hasWorker: false }),
    (started) => {
      world = started;
    },
  );

  const styleOf = (page: Page, selector: string, property: string): Promise<string> =>
    page
      .locator(selector)
      .first()
      .evaluate((part, name) => getComputedStyle(part).getPropertyValue(name), property);

  it("gets no grey words where more contrast is asked for", async () => {
    const { page } = await world.open("", { contrast: "more", colorScheme: "dark" });
    await page.locator(".tile .dim, .page .dim").first().waitFor();
    expect(await styleOf(page, ".page .dim", "color")).toBe(await styleOf(page, "html", "color"));
  });

  it("gets all text larger where the browser is told to, and nothing beside the page", async () => {
    const { page } = await world.open("jobs/new");
    for (const at of ["", "jobs/new", "fleet", "models", "cost", "settings"]) {
      await page.goto(`${world.server.url}/#/${at}`);
      await page.locator(".page h1").waitFor();
      // Both at once: a page that is being read has more of them each time. A tile's figure has no more than its tile's room.
      const unmoved = await page.evaluate(() => {
        const parts = [...document.querySelectorAll("body :not(.plot *)")].filter(
          ({ textContent }) => textContent !== "",
        );
        const sizesAt = (ofRoot: string): number[] => {
          document.documentElement.style.fontSize = ofRoot;
          return parts.map((part) => Number.parseFloat(getComputedStyle(part).fontSize));
        };
        const usual = sizesAt("16px");
        const larger = sizesAt("24px");
        return parts.filter((_, at) => (larger[at] ?? 0) <= (usual[at] ?? 0)).map(({ outerHTML }) => outerHTML);
      });
      expect(unmoved, at).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), at).toBe(0);
    }
  });

  it("gets charts as large as the text, whose words stand where they did", async () => {
    const { page } = await world.open("");
    await page.locator(".plot-axes text").first().waitFor();
    const chart = (ofRoot: string): Promise<number[]> =>
      page.evaluate((size) => {
        document.documentElement.style.fontSize = size;
        const parts = [".plot-drawing", ".plot-axes text"].map((one) => document.querySelector(one) as Element);
        return parts.map((part) => Math.round(part.getBoundingClientRect().height));
      }, ofRoot);
    const usual = await chart("16px");
    await expect.poll(() => chart("32px")).toEqual(usual.map((height) => height * 2));
  });

  it("gets columns and a bar that hold their words", async () => {
    const presence = { instance: "box-of-a-usual-name", provider: "p", status: "online", tags: "" };
    await world.call("POST", "/presence", { ...presence, unavailable: "no answer" });
    const { page } = await world.open("fleet");
    await page.locator(".fleet-table .cell-status").getByText("unavailable").waitFor();
    for (const [width, size] of [
      [1280, "16px"],
      [1280, "24px"],
      [1280, "32px"],
      [360, "24px"],
    ] as const) {
      await page.setViewportSize({ width, height: 720 });
      const outside = await page.evaluate((ofRoot) => {
        document.documentElement.style.fontSize = ofRoot;
        const cells = [...document.querySelectorAll<HTMLElement>(".fleet-table :is(th, td), .top-bar")];
        const spills = ({ scrollWidth, clientWidth, scrollHeight, clientHeight }: HTMLElement): boolean =>
          scrollWidth > clientWidth || scrollHeight > clientHeight;
        return cells.filter((cell) => cell.textContent !== "" && spills(cell)).map(({ outerHTML }) => outerHTML);
      }, size);
      expect(outside, `${size} on ${width}`).toEqual([]);
    }
  });

  it("gets dark ink on paper, the colours of the legend, and no buttons", async () => {
    const { page } = await world.open("", { colorScheme: "dark" });
    await page.locator(".plot-legend .swatch").first().waitFor();
    const onScreen = await styleOf(page, "html", "color");
    expect(await styleOf(page, ".plot-legend .swatch", "color")).not.toBe(onScreen);
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    expect(await styleOf(page, "html", "color")).not.toBe(onScreen);
    expect(await styleOf(page, ".plot-legend .swatch", "print-color-adjust")).toBe("exact");
    expect(await page.locator(".button:visible").count()).toBe(0);
  });
});
