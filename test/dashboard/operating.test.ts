// An operator's daily work, in a browser: jobs, workers, schedules, catalog, config, keys.

import type { Locator } from "playwright-core";
import { describe, expect, it } from "vitest";
import { lacksBrowser, startWorld, type World, worldForTests } from "./browser.ts";

const isInView = async (place: Locator): Promise<boolean> => {
  const box = await place.boundingBox();
  const height = place.page().viewportSize()?.height ?? 0;
  return box !== null && box.y >= 0 && box.y + box.height <= height;
};

describe.skipIf(lacksBrowser())("operating", () => {
  let world: World;
  worldForTests(startWorld, async (started) => {
    world = started;
    await world.untilWorker();
  });

  const localWorker = async (): Promise<string> =>
    (await world.call<{ workers: { instance: string }[] }>("GET", "/api/workers")).workers[0]?.instance ?? "";

  it("a job is dispatched with a preview of the router's choice and followed to its result", async () => {
    const { page, faults } = await world.show("jobs/new");
    const instance = await localWorker();
    await page.getByText(`${instance} would get it`).waitFor();
    await page.getByLabel("Tags").fill("gpu");
    await page.getByText("No worker would get it now.").waitFor();
    await page.getByText("missing tag gpu").waitFor();
    await page.getByLabel("Tags").fill("");
    await page.getByLabel("Prompt").fill("Say <img src=x onerror=alert(1)> back");
    await page.getByRole("button", { name: "Dispatch now" }).click();
    await page.getByRole("heading", { name: "Result" }).waitFor();
    await page.getByText("Completed", { exact: true }).first().waitFor();
    expect(await page.getByLabel("Result", { exact: true }).textContent()).toContain("<img src=x onerror=alert(1)>");
    await page.getByRole("heading", { name: `Why ${instance}` }).waitFor();
    await page.getByText("No other worker could take it.").first().waitFor();
    await page.getByText("free capacity").first().waitFor();
    expect(faults()).toEqual([]);
  });

  it("a job that streams shows its text while it is written, and then its result", async () => {
    const { page, faults } = await world.show("jobs/new");
    const words = Array.from({ length: 24 }, (_, at) => `word${at}`).join(" ");
    await page.getByLabel("Prompt").fill(words);
    await page.getByText("Input, start, limits, streaming").click();
    await page.getByLabel("Input", { exact: true }).fill('{"delay_ms": 5000}');
    await page.getByLabel("Show the text while it is written").check();
    await page.getByRole("button", { name: "Dispatch now" }).click();
    await page.getByRole("heading", { name: "Result, as it is written" }).waitFor();
    const written = async (): Promise<string> =>
      (await page.getByLabel("Result so far", { exact: true }).textContent()) ?? "";
    const early = await written();
    expect(words.startsWith(early.trim())).toBe(true);
    expect(early.trim().length).toBeLessThan(words.length);
    await expect.poll(async () => (await written()).length, { interval: 20 }).toBeGreaterThan(early.length);
    await page.getByRole("heading", { name: "Result", exact: true }).waitFor();
    await page.getByLabel("Result", { exact: true }).getByText("word23").waitFor();
    expect(faults()).toEqual([]);
  }, 30_000);

  it("a dispatch that nobody can take says why, worker by worker, and keeps nothing", async () => {
    const { page } = await world.open("jobs/new?tags=h100");
    await page.getByLabel("Prompt").fill("Render the station");
    await page.getByRole("button", { name: "Dispatch now" }).click();
    await page.getByRole("alert").getByText("No eligible workers").waitFor();
    await page.getByRole("alert").getByText("missing tag h100").waitFor();
    expect((await world.call<{ total: number }>("GET", "/api/jobs?tag=h100")).total).toBe(0);
  });

  it("a waiting job says what it waits for, can be edited, and is cancelled after a confirmation", async () => {
    const { id } = await world.call<{ id: string }>("POST", "/api/jobs", { prompt: "Wait for me", tags: ["h100"] });
    const { page, faults } = await world.show("jobs?status=pending");
    await page.getByText('waits: no worker offers tag "h100"').waitFor();
    await page.getByRole("link", { name: "Wait for me" }).click();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("dialog").getByText("critical").click();
    await page.getByRole("button", { name: "Save" }).click();
    await expect
      .poll(async () => (await world.call<{ priority: string }>("GET", `/api/jobs/${id}`)).priority)
      .toBe("critical");
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("button", { name: "Cancel the job" }).click();
    await page.getByText("cancelled", { exact: true }).waitFor();
    expect(faults()).toEqual([]);
  });

  it("a worker is paused with a reason, shown as such everywhere, and resumed", async () => {
    const instance = await localWorker();
    const { page, faults } = await world.show(`fleet/${instance}`);
    await page.getByText("No job waits.").waitFor();
    await page.getByRole("button", { name: `Pause ${instance}` }).click();
    await page.getByLabel("Reason").fill("relay check");
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByText("It is paused: relay check.").waitFor();
    await page.goto(`${world.server.url}/#/`);
    await page.getByText(`Worker ${instance} is paused: relay check`).waitFor();
    await page.getByText("Caution: every worker is paused").waitFor();
    await page.goto(`${world.server.url}/#/fleet`);
    await page.getByRole("button", { name: `Resume ${instance}` }).click();
    await page.getByRole("button", { name: `Pause ${instance}` }).waitFor();
    expect(faults()).toEqual([]);
  });

  it("the fields of a dialog from the head of a page do not touch", async () => {
    const { page } = await world.open("fleet/local-worker");
    await page.getByRole("button", { name: "Pause local-worker" }).click();
    const reason = await page.getByLabel("Reason").boundingBox();
    const next = await page.getByText("How long", { exact: true }).boundingBox();
    expect((next?.y ?? 0) - (reason?.y ?? 0) - (reason?.height ?? 0)).toBeGreaterThan(8);
  });

  it("a schedule shows its next runs while it is typed, is created, run, and paused", async () => {
    const { page, faults } = await world.show("schedules/~new");
    await page.getByLabel("Cron").fill("not a cron");
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Cron").fill("30 7 * * 1");
    await page.getByLabel("Time zone").fill("America/New_York");
    await expect
      .poll(() => page.locator(".next-runs li").first().textContent())
      .toMatch(/Mon .*07:30:00.*(12|13):30:00 here/);
    await page.getByLabel("Name").fill("weekly-report");
    await page.getByLabel("Prompt").fill("Write the weekly report");
    await page.getByRole("button", { name: "Create the schedule" }).click();
    await page.getByText("It has not run yet.").waitFor();
    // Pressed again before the answer to the first press.
    await page.route("**/run", (route) => setTimeout(() => route.continue(), 300));
    for (let presses = 0; presses < 3; presses += 1)
      await page.getByRole("button", { name: "Run now: weekly-report" }).click();
    await page.getByRole("cell", { name: "created" }).waitFor();
    await page.getByRole("link", { name: "completed" }).waitFor();
    await page.getByText("1–1 of 1 run", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Pause: weekly-report" }).click();
    await page.getByText("It is paused. Resume it").waitFor();
    await world.call("POST", "/killswitch", { level: 2, reason: "a manual run is skipped" });
    await page.getByRole("button", { name: "Run now: weekly-report" }).click();
    await page.getByText("weekly-report did not run: killswitch level 2.").waitFor();
    await world.call("DELETE", "/killswitch?resume_all=true");
    expect(faults()).toEqual([]);
  });

  it("a catalog subscription whose sync fails shows the provider's error and keeps it", async () => {
    const { page, faults } = await world.show("catalog");
    await page.getByText("No subscription yet.").waitFor();
    await page.getByText("api.openai.com", { exact: true }).waitFor();
    await page.getByText("an address of your own", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Subscribe" }).click();
    await page.getByLabel("Provider", { exact: true }).selectOption("openai");
    await page.getByRole("dialog").getByRole("button", { name: "Subscribe" }).click();
    await page.getByRole("button", { name: "Sync now: openai" }).click();
    await page.getByText(/openai was not synced: .*PROVIDER_OPENAI_KEY/).waitFor();
    await page.getByRole("cell", { name: "failing" }).waitFor();
    await page.getByRole("link", { name: "openai" }).click();
    await page.getByText("The last sync failed").waitFor();
    expect(faults()).toEqual([]);
  });

  it("a config with an error is told so while it is typed and cannot be saved; a good one is, after its diff", async () => {
    const { page, faults } = await world.show("settings");
    const editor = page.getByLabel("Config as YAML");
    const before = await editor.inputValue();
    await editor.fill(before.replace("max_attempts: 5", "max_atempts: 5"));
    await page
      .getByRole("alert")
      .getByText(/max_attempts/)
      .waitFor();
    const save = page.getByRole("button", { name: "Review and save" });
    expect(await save.isDisabled()).toBe(true);
    await editor.fill(`${before}${"# a note\n".repeat(80)}jobs: {}\n`);
    await page.mouse.wheel(0, 20_000);
    await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(500);
    await expect.poll(() => isInView(page.getByRole("alert"))).toBe(true);
    await editor.fill(before.replace("max_attempts: 5", "max_attempts: 7"));
    await page.getByText("Valid, not saved yet.").waitFor();
    await save.click();
    await page.getByRole("dialog").getByText("max_attempts: 7").waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Config saved.").waitFor();
    expect((await world.call<{ jobs: { max_attempts: number } }>("GET", "/config")).jobs.max_attempts).toBe(7);
    expect(faults()).toEqual([]);
  });

  it("a config is not saved over somebody else's", async () => {
    const { page } = await world.show("settings");
    const editor = page.getByLabel("Config as YAML");
    const before = await editor.inputValue();
    await world.call("PUT", "/config", { jobs: { max_attempts: 3 } });
    await editor.fill(before.replace(/timeout_seconds: \d+/, "timeout_seconds: 60"));
    await page.getByRole("button", { name: "Review and save" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Someone else saved another config meanwhile").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => editor.inputValue()).toContain("max_attempts: 3");
  });

  it("a config is not saved over what somebody else saved while another page was looked at", async () => {
    const { page } = await world.open("settings");
    const editor = page.getByLabel("Config as YAML");
    await editor.fill(`${await editor.inputValue()}# a note\n`);
    await page.getByRole("link", { name: "Fleet", exact: true }).click();
    await page.getByRole("heading", { name: "Fleet" }).waitFor();
    await world.call("PUT", "/config", { jobs: { max_attempts: 9 } });
    await page.getByRole("link", { name: "Settings", exact: true }).click();
    await page.getByRole("button", { name: "Review and save" }).click();
    await page.getByRole("dialog").getByText("# a note").waitFor();
    expect(await page.getByRole("dialog").getByText("max_attempts").count()).toBe(0);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Someone else saved another config meanwhile").waitFor();
    expect((await world.call<{ jobs: { max_attempts: number } }>("GET", "/config")).jobs.max_attempts).toBe(9);
  });

  it("a key is created, shown once, rotated and revoked, and the audit log has it", async () => {
    const { page, faults } = await world.open("settings/keys");
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Name").fill("night shift");
    await page.getByRole("button", { name: "Create" }).click();
    const secret = await page.locator(".secret").textContent();
    for (const key of ["Escape", "Escape", "Control+k"]) await page.keyboard.press(key);
    await page.mouse.click(5, 5);
    expect(await page.locator(".secret").textContent()).toBe(secret);
    expect(await page.getByRole("dialog").isVisible()).toBe(true);
    const hasFocus = (name: string) =>
      page.getByRole("button", { name }).evaluate((button) => button === document.activeElement);
    await page.getByRole("button", { name: "I have saved it" }).click();
    expect(await hasFocus("New key")).toBe(true);
    await page.getByRole("button", { name: "Rotate night shift" }).click();
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    await page.getByText("Copy it now").waitFor();
    expect(await page.locator(".secret").textContent()).not.toBe(secret);
    await page.getByRole("button", { name: "I have saved it" }).click();
    expect(await hasFocus("Rotate night shift")).toBe(true);
    await page.setViewportSize({ width: 390, height: 844 });
    const placeOf = (name: string) => page.getByRole("button", { name: `${name} night shift` }).boundingBox();
    const places = await Promise.all(["Edit", "Rotate", "Revoke"].map(placeOf));
    expect(new Set(places.map((one) => one?.y)).size).toBe(1);
    await page.getByRole("button", { name: "Revoke night shift" }).click();
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    await page.getByRole("row").filter({ hasText: "night shift" }).getByText("revoked").waitFor();
    await world.call("PUT", "/config", { jobs: { max_attempts: 4 } });
    await page.getByRole("link", { name: "Audit log" }).click();
    await page.getByText("key.revoked").first().waitFor();
    // A phone has no column for who did it.
    await page.getByText("by first admin key").first().waitFor();
    await page.getByLabel("About").selectOption("config");
    await expect.poll(() => page.getByText("key.revoked").count()).toBe(0);
    await page.getByText("config.replaced").first().waitFor();
    await page.getByLabel("About").selectOption("key");
    await page.getByLabel("Who").fill("nobody");
    await page.getByText("No entry matches.").waitFor();
    expect(faults()).toEqual([]);
  });
});
