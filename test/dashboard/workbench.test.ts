// The jobs page under load: a list that does not move, one search line, bulk changes, keyboard, views, Back.

import type { Page } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import { lacksBrowser, startWorld, type World, worldForTests } from "./browser.ts";

interface Job {
  id: string;
  lease: number;
  status: string;
}

const PHONE = { width: 390, height: 844 };

describe.skipIf(lacksBrowser())("the jobs page", () => {
  let world: World;
  worldForTests(
    () => startWorld({ hasWorker: false }),
    async (started) => {
      world = started;
      const many = Array.from({ length: 60 }, (_, index) => ({ prompt: `many ${index}`, tags: ["nobody"] }));
      await world.call("POST", "/api/jobs/batch", { jobs: many });
    },
  );
  // A sign of life before each test: the file may take longer than the time after which a worker counts as offline.
  beforeEach(async () => {
    for (const provider of ["openai", "anthropic"])
      await world.call("POST", "/presence", {
        instance: provider,
        provider,
        status: "idle",
        tags: "gpu",
        concurrency: 100,
      });
  });

  const create = (prompt: string, facts: object = {}): Promise<Job> =>
    world.call<Job>("POST", "/api/jobs", { prompt, tags: ["nobody"], ...facts });
  const dispatch = (provider: string, prompt: string): Promise<Job> =>
    world.call<Job>("POST", "/dispatch", { prompt, provider, max_attempts: 1 });
  const fail = async (provider: string, prompt: string, error: object): Promise<string> => {
    const { id, lease } = await dispatch(provider, prompt);
    await world.call("POST", `/api/jobs/${id}/start`, { lease });
    await world.call("POST", `/api/jobs/${id}/fail`, { lease, error: { retryable: false, ...error } });
    return id;
  };
  const serverError = { code: "provider_failed", status: 500, message: "upstream connect error" };
  const rows = (page: Page) => page.locator("tr[data-job]");

  it("holds its rows while jobs arrive, so that each click meets its row; what is new comes when it is asked for", async () => {
    for (let index = 0; index < 12; index += 1) await create(`held ${index}`, { priority: "low" });
    const { page, faults } = await world.show("jobs?q=held");
    await page.getByText("1–12 of 12 jobs").waitFor();
    let arrived = 0;
    const arriving = setInterval(() => {
      arrived += 1;
      void create(`held newcomer ${arrived}`);
    }, 150);
    try {
      for (const index of [11, 8, 4, 0]) {
        const row = page.getByRole("link", { name: `held ${index}`, exact: true });
        await row.scrollIntoViewIfNeeded();
        const box = await row.boundingBox();
        if (box === null) throw new Error(`no row ${index}`);
        await page.waitForTimeout(300);
        await page.mouse.click(box.x + 10, box.y + box.height / 2);
        await page
          .getByRole("heading", { name: `held ${index}`, exact: false })
          .first()
          .waitFor();
        await page.goBack();
        await row.waitFor();
      }
    } finally {
      clearInterval(arriving);
    }
    const button = page.getByRole("button", { name: /\d+ new – show/ });
    await button.click();
    await page
      .getByRole("link", { name: /held newcomer/ })
      .first()
      .waitFor();
    await expect.poll(() => button.count()).toBe(0);
    expect(faults()).toEqual([]);
  }, 60_000);

  it("shows a new state in its row without moving the rows below", async () => {
    const { id, lease } = await dispatch("anthropic", "steady upper");
    await create("steady lower");
    const { page } = await world.show("jobs?q=steady&sort=-created_at");
    const [upper, lower] = ["steady upper", "steady lower"].map((name) => rows(page).filter({ hasText: name }));
    await upper?.getByText("assigned").waitFor();
    const before = await lower?.boundingBox();
    await world.call("POST", `/api/jobs/${id}/fail`, { lease, error: { ...serverError, retryable: false } });
    await upper?.getByText("provider_failed: upstream connect error").waitFor();
    expect((await lower?.boundingBox())?.y).toBe(before?.y);
  });

  it("finds by one line that completes, and by provider finds what asked for it and what ran there", async () => {
    await fail("openai", "line one", serverError);
    await fail("anthropic", "line two", { code: "overloaded", status: 529, message: "busy" });
    const { id, lease } = await world.call<Job>("POST", "/dispatch", { prompt: "line three", tags: [] });
    await world.call("POST", `/api/jobs/${id}/complete`, { lease, result: 1 });
    const { ran_provider: ran } = await world.call<{ ran_provider: string }>("GET", `/api/jobs/${id}`);
    const { page, faults } = await world.show("jobs");
    const line = page.getByLabel("Search");
    await line.fill("line error:500 ran:openai");
    await page.getByText("1–1 of 1 job").waitFor();
    await page.getByRole("link", { name: "line one" }).waitFor();
    for (const part of ["q=line", "error_code=500", "ran_provider=openai"]) expect(page.url()).toContain(part);
    await line.fill(`line provider:${ran}`);
    await page.getByRole("link", { name: "line three" }).waitFor();
    await line.fill("line er");
    await expect
      .poll(() =>
        page.locator("datalist option").evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value)),
      )
      .toEqual(["line error:"]);
    await line.fill("line error:over");
    await expect
      .poll(() =>
        page.locator("datalist option").evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value)),
      )
      .toEqual(["line error:overloaded"]);
    expect(faults()).toEqual([]);
  });

  it("retries all 500s of a provider in four actions, and names how many and since when before it does", async () => {
    const ids = [];
    for (let index = 0; index < 3; index += 1)
      ids.push(await fail("openai", `outage ${index}`, { ...serverError, code: "bad_gateway" }));
    const other = await fail("anthropic", "outage elsewhere", { ...serverError, code: "bad_gateway" });
    const { page, faults } = await world.show("jobs?status=failed&range=1h");
    await page.getByLabel("Search").fill("error:bad_gateway ran:openai");
    await page.getByText("1–3 of 3 jobs").waitFor();
    // A state that is typed is that of the chips.
    await page.getByRole("button", { name: "all", exact: true }).click();
    // The list of the same three by the new state: it begins without a selection.
    const listed = page.waitForResponse(/\/api\/jobs\?.*status=failed/);
    await page.getByLabel("Search").fill("error:bad_gateway ran:openai status:failed");
    await listed;
    await page.getByRole("button", { name: /^failed/, pressed: true }).waitFor();
    await expect.poll(() => page.getByLabel("Search").inputValue()).toBe("error:bad_gateway ran:openai");
    await page.getByText("1–3 of 3 jobs").waitFor();
    await page.getByLabel("Select all on this page").check();
    await page.getByRole("button", { name: "Retry …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Retry 3 jobs" }).click();
    await page.getByText("3 jobs are back in the queue.").waitFor();
    const status = async (id: string) => (await world.call<Job>("GET", `/api/jobs/${id}`)).status;
    for (const id of ids) expect(await status(id)).not.toBe("failed");
    expect(await status(other)).toBe("failed");
    expect(faults()).toEqual([]);
  });

  it("changes all that match, past the page, and refuses where the number is no longer the one it named", async () => {
    const { page, faults } = await world.show("jobs?q=many&status=pending&range=1h");
    await page.getByText("1–50 of 60 jobs").waitFor();
    await page.getByLabel("Select all on this page").check();
    await page.getByRole("button", { name: "Select all 60 that match" }).click();
    await page.getByRole("button", { name: "Cancel …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/60 jobs pending with many, created from .* to /).waitFor();
    const { jobs } = await world.call<{ jobs: Job[] }>("GET", "/api/jobs?q=many&limit=1");
    await world.call("POST", `/api/jobs/${jobs[0]?.id}/cancel`);
    await dialog.getByRole("button", { name: "Cancel 60 jobs" }).click();
    await dialog.getByRole("alert").waitFor();
    expect((await world.call<{ total: number }>("GET", "/api/jobs?q=many&status=pending")).total).toBe(59);
    await dialog.getByRole("button", { name: "Cancel 59 jobs" }).click();
    await page.getByText("59 jobs are cancelled.").waitFor();
    expect((await world.call<{ total: number }>("GET", "/api/jobs?q=many&status=cancelled")).total).toBe(60);
    expect(faults()).toEqual([]);
  });

  it("tells why a job waits two actions from anywhere: to the jobs, and its id", async () => {
    const { id } = await create("sought by its id");
    const { page } = await world.show("settings");
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByLabel("Search").fill(id);
    await page.getByText("1–1 of 1 job").waitFor();
    await rows(page).getByText('waits: no worker offers tag "nobody"').waitFor();
  });

  it("is worked by keys alone: / finds, j and k go, x selects, Enter opens", async () => {
    await create("keys older");
    await create("keys newer");
    const { page, faults } = await world.show("jobs");
    await page.getByLabel("Select all on this page").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("keys");
    await page.getByText("1–2 of 2 jobs").waitFor();
    await page.getByRole("heading", { name: "Jobs" }).focus();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByText("1 job selected").waitFor();
    expect(await page.getByLabel("Select: keys older").isChecked()).toBe(true);
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "keys newer" }).first().waitFor();
    expect(faults()).toEqual([]);
  });

  it("offers to retry a picked job that runs only where its worker is lost", async () => {
    const { id, lease } = await dispatch("openai", "picked while it runs");
    await world.call("POST", `/api/jobs/${id}/start`, { lease });
    const { page, faults } = await world.show("jobs?q=picked+while");
    await page.getByLabel("Select: picked while it runs").check();
    await page.getByRole("button", { name: "Cancel …" }).waitFor();
    const looked = page.waitForResponse("**/api/workers/openai");
    await page.reload();
    await page.getByLabel("Select: picked while it runs").check();
    await looked;
    const retry = page.getByRole("button", { name: "Retry …" });
    expect(await retry.count()).toBe(0);
    await page.route("**/api/workers/openai", async (route) => {
      const answer = await (await route.fetch()).json();
      return route.fulfill({ json: { ...answer, status: "offline" } });
    });
    await page.reload();
    await page.getByLabel("Select: picked while it runs").check();
    await retry.waitFor();
    await world.call("POST", `/api/jobs/${id}/complete`, { lease, result: "done" });
    expect(faults()).toEqual([]);
  });

  it("keeps a view under a name, and its address is the view", async () => {
    const { page } = await world.open("jobs?status=failed&error_code=bad_gateway");
    await page.getByRole("button", { name: "Save this view" }).click();
    await page.getByLabel("Name").fill("Gateway trouble");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("link", { name: "Running now" }).click();
    await page.reload();
    await page.getByRole("link", { name: "Gateway trouble" }).click();
    await expect.poll(() => page.getByLabel("Search").inputValue()).toBe("error:bad_gateway");
    expect(page.url()).toContain("status=failed");
  });

  it("goes back to where the reader was, in the list as it was", async () => {
    const { page } = await world.show("jobs?q=many");
    await page.getByText("1–50 of 60 jobs").waitFor();
    const link = rows(page).nth(40).getByRole("link").first();
    await link.scrollIntoViewIfNeeded();
    const before = await page.evaluate(() => scrollY);
    expect(before).toBeGreaterThan(500);
    await link.click();
    await page.getByRole("heading", { name: /many/ }).first().waitFor();
    expect(await page.evaluate(() => scrollY)).toBe(0);
    await page.goBack();
    const isThere = (): Promise<void> => expect.poll(() => page.evaluate(() => scrollY)).toBe(before);
    await isThere();
    await page.reload();
    await isThere();
    await page.goto(`${world.server.url}/docs`);
    await page.goBack();
    await isThere();
  });

  it("turns pages by cursor, further than an offset reaches, and back", async () => {
    const { page } = await world.show("jobs?q=many");
    await page.getByText("1–50 of 60 jobs").waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("51–60 of 60 jobs").waitFor();
    expect(page.url()).toContain("cursor=");
    const cursor = new URL(page.url().replace("/#/", "/")).searchParams.get("cursor");
    await page.goto(`${world.server.url}/#/jobs?q=many&offset=10050&cursor=${encodeURIComponent(cursor ?? "")}`);
    await page.getByText("10,051–10,060 of 60 jobs").waitFor();
    await page.goto(`${world.server.url}/#/jobs?q=many&offset=50&cursor=${encodeURIComponent(cursor ?? "")}`);
    await page.getByText("51–60 of 60 jobs").waitFor();
    await page.getByRole("button", { name: "Previous" }).click();
    await page.getByText("1–50 of 60 jobs").waitFor();
  });

  it("takes up its session by itself when the coordinator was out of reach as the page was opened", async () => {
    const { page } = await world.open("jobs");
    await page.route("**/session", (route) => route.abort());
    await page.reload();
    await page.getByRole("button", { name: /Sign in/ }).waitFor();
    await page.unroute("**/session");
    await page.getByText("Live", { exact: true }).waitFor();
  });

  it("keeps a long error on one line of a phone and cuts no character in two", async () => {
    const prompt = `emoji ${"a".repeat(193)}🚂 tail`;
    const message = `${"signal ".repeat(41)}🚧🚧🚧🚧 ${"flood ".repeat(500)}`;
    await fail("openai", prompt, { code: "x", message });
    const { page } = await world.open("jobs?q=emoji", { viewport: PHONE });
    const row = rows(page).first();
    await row.waitFor();
    expect((await row.boundingBox())?.height).toBeLessThan(110);
    expect(await row.textContent()).not.toMatch(
      /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/,
    );
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(PHONE.width);
  });

  it("moves nothing for a reader who asked for that, and for nobody longer than five seconds", async () => {
    const { page } = await world.open("jobs", { reducedMotion: "reduce" });
    const motion = () =>
      page
        .locator(".lamp-lit .lamp-fill")
        .first()
        .evaluate((one) => {
          const { animationName, animationDuration, animationIterationCount } = getComputedStyle(one);
          return {
            name: animationName,
            seconds: Number.parseFloat(animationDuration) * Number(animationIterationCount),
          };
        });
    expect(await motion()).toMatchObject({ name: "none" });
    await page.emulateMedia({ reducedMotion: "no-preference" });
    expect(await motion()).toEqual({ name: "breathe", seconds: 4.8 });
  });
});
