// Checks for every page: no serious finding of axe in either theme, nothing wider than a phone, no console error, no
// request to other origins, one heading, a title of its own.

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { lacksBrowser, startWorld, type World, worldForTests } from "./browser.ts";
import { jumps, watchShifts } from "./jumps.ts";
import { cutForGood, cutInCharts, overflowing, spilling, squeezed, unsaid, wideFields, widthOf } from "./layout.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PHONE = { width: 390, height: 844 };
/** What a reader who zooms a desktop to 400 % has left (WCAG 1.4.10). */
const ZOOMED = { width: 320, height: 640 };
const TABLET = { width: 820, height: 1180 };
/** Of a small laptop, and of half a large screen: all columns are shown, in less than their usual width. */
const WINDOW_WIDTHS = [1024, 1100];
const DESKTOP = { width: 1360, height: 900 };

interface Finding {
  impact: string;
  id: string;
  nodes: { html: string }[];
}

interface Axe {
  run: (options: object) => Promise<{ violations: Finding[] }>;
}

/** The only rules that another theme can break. */
const ABOUT_COLOURS = { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } };

/** Runs through the debugger, because the page's policy allows no external script; once a document. By all rules. */
const seriousFindings = async (page: Page, rules: object = {}): Promise<string[]> => {
  if (await page.evaluate(() => !("axe" in globalThis))) await page.evaluate(AXE);
  const findings = await page.evaluate(async (only) => {
    const { axe } = globalThis as unknown as { axe: Axe };
    // What passes is not described.
    return (await axe.run({ resultTypes: ["violations"], rules: { "target-size": { enabled: true } }, ...only }))
      .violations;
  }, rules);
  return findings
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
};

describe.skipIf(lacksBrowser())("every page", () => {
  let world: World;
  const places: Record<string, string> = {};

  worldForTests(startWorld, async (started) => {
    world = started;
    await world.untilWorker();
    await populate(world, places);
  });

  /** What axe finds in the light theme, and what the dark one adds. */
  const findingsIn = async (page: Page): Promise<string[]> => {
    const light = await seriousFindings(page);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.locator("html[data-theme=dark]").waitFor();
    const dark = await seriousFindings(page, ABOUT_COLOURS);
    await page.emulateMedia({ colorScheme: "light" });
    return [...light, ...dark.map((finding) => `${finding} in the dark theme`)];
  };

  /** What is wrong with how a page is laid out at one width. */
  const layoutFaults = async (page: Page, width: number): Promise<string[]> => {
    const shown = await widthOf(page);
    return [
      ...(shown > width ? [`${shown} px wide`] : []),
      ...(await overflowing(page)).map((part) => `${part} is wider than its place`),
      ...(await spilling(page)),
      ...(await wideFields(page)),
      ...(await unsaid(page)),
      ...(await cutForGood(page)),
      ...(await cutInCharts(page)),
      ...((await page.locator("h1").count()) === 1 ? [] : ["not one heading"]),
    ];
  };

  /** What a tablet shows is of the desktop or of the phone, so axe has seen it there. */
  const faultsAt = async (page: Page, device: string, width: number): Promise<string[]> => [
    ...(await layoutFaults(page, width)),
    ...(device === "tablet" ? await squeezed(page) : await findingsIn(page)),
  ];

  /** Charts and tables hear of their new width with the frame that follows. */
  const resize = async (page: Page, viewport: typeof PHONE): Promise<void> => {
    await page.setViewportSize(viewport);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  };

  /** Two pages of one name are one to who chooses among tabs by name. */
  const titlesTwice = (titles: ReadonlyMap<string, string>): string[] =>
    [...titles].filter(([, title]) => [...titles.values()].filter((one) => one === title).length > 1).map(String);

  /** Of widths at which a page is only looked at for what is wide. */
  const widthFaults = async (page: Page, viewport: typeof PHONE): Promise<string[]> => {
    await resize(page, viewport);
    const { width } = viewport;
    const shown = await widthOf(page);
    const wide = await overflowing(page);
    return [
      ...(shown > width ? [`${shown} px wide`] : []),
      ...(width === ZOOMED.width ? [] : wide.map((part) => `${part} is wider than its place`)),
    ];
  };

  // One document for all: how a page is laid out follows from its width alone, whenever that is set.
  it("is sound in either theme on a desktop, a tablet and a phone", async () => {
    const { page, faults } = await world.open("", { viewport: DESKTOP, colorScheme: "light" });
    const findings: string[] = [];
    const titles = new Map<string, string>();
    for (const [name, place] of Object.entries(places)) {
      await page.goto(`${world.server.url}/#/${place}`);
      await page.locator("main h1").waitFor();
      for (const [device, viewport] of Object.entries({ desktop: DESKTOP, tablet: TABLET, phone: PHONE })) {
        await resize(page, viewport);
        await expect.poll(() => page.locator(".loading").count()).toBe(0);
        const found = await faultsAt(page, device, viewport.width);
        findings.push(...found.map((finding) => `${name} on a ${device}: ${finding}`));
      }
      for (const viewport of [...WINDOW_WIDTHS.map((width) => ({ ...DESKTOP, width })), ZOOMED]) {
        const found = await widthFaults(page, viewport);
        findings.push(...found.map((finding) => `${name} in a window of ${viewport.width}: ${finding}`));
      }
      titles.set(place.split("?", 1)[0] ?? "", await page.title());
      await resize(page, DESKTOP);
    }
    expect(findings).toEqual([]);
    expect(titlesTwice(titles)).toEqual([]);
    expect(faults()).toEqual([]);
  }, 240_000);

  // Each page is another document, which takes long. A tablet shows what a desktop or a phone shows.
  it("stays where it is on a phone while it is read", async () => {
    const { page } = await world.open("", { viewport: PHONE });
    await watchShifts(page);
    const findings: string[] = [];
    for (const [number, [name, place]] of Object.entries(places).entries()) {
      // Another address makes another document, in the process that the browser has for this one.
      await page.goto(`${world.server.url}/?document=${number}#/${place}`);
      await page.locator("main h1").waitFor();
      await page.getByText("Live", { exact: true }).waitFor();
      await expect.poll(() => page.locator(".loading").count()).toBe(0);
      findings.push(...(await jumps(page)).map((jump) => `${name}: ${jump}`));
    }
    expect(findings).toEqual([]);
  }, 90_000);

  it("fits the narrowest page that zooming makes while the line is stopped", async () => {
    const { page } = await world.open("", { viewport: ZOOMED });
    await world.call("POST", "/killswitch", { level: 2, reason: "checking the banner" });
    await page.getByText("Line stopped: level 2").waitFor();
    expect(await widthOf(page)).toBeLessThanOrEqual(ZOOMED.width);
    await world.call("DELETE", "/killswitch?resume_all=true");
  });

  it("fits the narrowest page that zooming makes while letters and words stand as far apart as a reader may set", async () => {
    const { page } = await world.open("settings/audit", { viewport: ZOOMED });
    await page.getByRole("link", { name: "Audit log" }).waitFor();
    await page.evaluate(() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync("* { letter-spacing: 0.12em !important; word-spacing: 0.16em !important }");
      document.adoptedStyleSheets = [sheet];
    });
    expect(await widthOf(page)).toBeLessThanOrEqual(ZOOMED.width);
  });

  it("of the API's documentation fits a phone", async () => {
    const { page, faults } = await world.visit("/docs", { viewport: PHONE });
    const wide: string[] = [];
    const subjects = await page
      .locator("h2 a")
      .evaluateAll((links) => links.map((link) => link.getAttribute("href") ?? ""));
    expect(subjects.length).toBeGreaterThan(10);
    for (const place of ["/docs", ...subjects]) {
      await page.goto(world.server.url + place);
      const width = await widthOf(page);
      if (width > PHONE.width) wide.push(`${place}: ${width} px`);
    }
    expect(wide).toEqual([]);
    expect(faults()).toEqual([]);
  });

  it("is sound while a dialog is open and the line is stopped", async () => {
    const { page, faults } = await world.open("", { viewport: PHONE });
    await world.call("POST", "/killswitch", { level: 2, reason: "checking the banner" });
    await page.getByText("Line stopped: level 2").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "Change level" }).click();
    expect(await seriousFindings(page)).toEqual([]);
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Change level");
    await world.call("DELETE", "/killswitch?resume_all=true");
    expect(faults()).toEqual([]);
  });

  it("shows what is chosen, and which colour means what, also in colours of the reader's own", async () => {
    const { page } = await world.open("jobs", { viewport: DESKTOP, forcedColors: "active" });
    const backgroundOf = (selector: string): Promise<string> =>
      page
        .locator(selector)
        .first()
        .evaluate((part) => getComputedStyle(part).backgroundColor);
    const isTold = async (chosen: string, other: string): Promise<void> =>
      expect(await backgroundOf(chosen)).not.toBe(await backgroundOf(other));
    await isTold(".chip[aria-pressed=true]", ".chip[aria-pressed=false]");
    await page.keyboard.press("Control+k");
    await page.locator(".palette [aria-selected=true]").waitFor();
    await isTold(".palette [aria-selected=true]", ".palette [aria-selected=false]");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Killswitch" }).click();
    await isTold(".lever:has(:checked)", ".lever:not(:has(:checked))");
    await page.keyboard.press("Escape");
    await page.goto(`${world.server.url}/#/`);
    await page.locator(".plot-legend .swatch").first().waitFor();
    await isTold(".choice-row .chosen", ".choice-row label:not(.chosen)");
    await isTold(".plot-legend .swatch", ".plot-legend");
  });

  it("keeps the tabs of Settings in place, with and without actions above them", async () => {
    const { page } = await world.open("settings", { viewport: DESKTOP });
    const tops: number[] = [];
    for (const tab of ["settings", "settings/keys", "settings/audit", "settings/people"]) {
      await page.goto(`${world.server.url}/#/${tab}`);
      await page.getByRole("link", { name: "Audit log" }).waitFor();
      await expect.poll(() => page.locator(".loading").count()).toBe(0);
      tops.push((await page.getByRole("link", { name: "Audit log" }).boundingBox())?.y ?? 0);
    }
    expect(new Set(tops).size).toBe(1);
  });

  it("is reached by keyboard alone", async () => {
    const { page } = await world.open("", { viewport: DESKTOP });
    // The key that was signed in with had the focus, and is gone.
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("BODY");
    const isAt = (text: string) =>
      page.evaluate((wanted) => document.activeElement?.textContent?.trim() === wanted, text);
    for (let presses = 0; presses < 30 && !(await isAt("Schedules")); presses += 1) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Schedules" }).waitFor();
    expect(await isAt("Schedules")).toBe(true);
  });
});

const populate = async (world: World, places: Record<string, string>): Promise<void> => {
  const { call } = world;
  const { id: done } = await call<{ id: string }>("POST", "/api/jobs", { prompt: "Done at once" });
  // For the overview's list of what fails.
  await call("POST", "/api/jobs", { prompt: "Fails", input: { fail: { code: "model_broke" } } });
  const longTag = "a-tag-as-long-as-tags-may-be-which-is-sixty-four-characters-long";
  const prompt = `Waits ${"averyveryverylongword".repeat(20)}`;
  const { id: waiting } = await call<{ id: string }>("POST", "/api/jobs", { prompt, tags: ["h100", longTag] });
  await call("POST", "/api/schedules", { name: "sweep", interval: "1h", prompt: "Sweep" });
  const { job_id: swept } = await call<{ job_id: string }>("POST", "/api/schedules/sweep/run");
  // The last one that the local worker takes: what waited for it would go to the next worker.
  await call("GET", `/api/jobs/${swept}?wait=20`);
  const { id: input } = await call<{ id: string }>("POST", "/api/files?name=in.jsonl&purpose=batch", { no: "line" });
  const asked = {
    input_file_id: input,
    endpoint: "/v1/embeddings",
    completion_window: "24h",
    metadata: { name: "Texts for the autumn catalogue of the north. ".repeat(4) },
  };
  const { id: batch } = await call<{ id: string }>("POST", "/v1/batches", asked);
  const works = async (provider: string): Promise<void> => {
    await call("POST", "/presence", { instance: `${provider}-box`, provider, tags: "gpu" });
    const asked = { prompt: "Costs", provider, model: "m".repeat(64) };
    const { id, lease } = await call<{ id: string; lease: number }>("POST", "/dispatch", asked);
    await call("POST", `/api/jobs/${id}/complete`, { lease, result: "Done", cost_usd: 0.25 });
  };
  await works("a-provider-with-a-name-of-sixty-four-characters-is-still-allowed");
  const long = { instance: `${"rack.".repeat(25)}box`, provider: "vllm", tags: `gpu,${longTag}`, concurrency: 1000 };
  await call("POST", "/presence", long);
  // The router has another one to choose from.
  await call("POST", "/presence", { ...long, instance: `${"shelf.".repeat(20)}box`, concurrency: 1 });
  const { id: given } = await call<{ id: string }>("POST", "/api/jobs", { prompt: "Taken", provider: "vllm" });
  await call("POST", `/api/workers/${long.instance}/pause`, { reason: "r".repeat(200) });
  const longProvider = "p".repeat(64);
  await call("POST", "/api/jobs", { prompt: "Waits for a provider", provider: longProvider });
  await call("POST", "/api/keys", { name: "k".repeat(100), role: "client" });
  const owner = { instance: "garage", provider: "ollama", models: ["llama3.2"], can: ["pull", "load"] };
  await call("POST", "/presence", { ...owner, on_disk: [{ model: "llama3.2", bytes: 2e9 }], loaded: [] });
  const pull = { action: "pull", model: longTag };
  const { task } = await call<{ task: { id: string } }>("POST", "/api/workers/garage/models", pull);
  const half = { stage: "pulling", completed_bytes: 1e9, total_bytes: 2e9, bytes_per_second: 1e6 };
  await call("POST", `/api/model-tasks/${task.id}/progress`, half);
  const description = "a".repeat(200);
  const events = ["job.failed"];
  await call("POST", "/api/webhooks", { url: "https://signalbox.invalid/hook", events, tags: [longTag], description });
  const { id: subscription } = await call<{ id: string }>("POST", "/catalog/subscriptions", { provider: "openai" });
  const { workers } = await call<{ workers: { instance: string }[] }>("GET", "/api/workers");
  const providers = { [longProvider]: { budget: { day_usd: 5 } } };
  await call("PUT", "/config", { budget: { day_usd: 5 }, providers });
  Object.assign(places, {
    overview: "",
    jobs: "jobs",
    "a filter that nothing matches": "jobs?tag=nothing",
    "a job that is done": `jobs/${done}`,
    "a job that waits": `jobs/${waiting}`,
    "a job that a worker has": `jobs/${given}`,
    "a job that is not": "jobs/nothing",
    "new job": "jobs/new",
    fleet: "fleet",
    "the fleet by tag": "fleet?group=tag",
    "add a worker": "fleet/~add",
    playground: "playground",
    webhooks: "settings/webhooks",
    "cost by model": "cost?range=yesterday&by=model",
    worker: `fleet/${workers[0]?.instance}`,
    "a paused worker": `fleet/${long.instance}`,
    batches: "batches",
    batch: `batches/${batch}`,
    models: "models",
    explain: "explain?tags=h100",
    schedules: "schedules",
    schedule: "schedules/sweep",
    "edit schedule": "schedules/sweep/edit",
    "new schedule": "schedules/~new",
    catalog: "catalog",
    subscription: `catalog/${subscription}`,
    cost: "cost?period=week",
    config: "settings",
    keys: "settings/keys",
    "sign-in": "settings/sign-in",
    people: "settings/people",
    audit: "settings/audit",
    "sign in a program": "grant-key?port=4711&name=laptop&challenge=c&state=s",
    "an incomplete link of a program": "grant-key",
    nowhere: "nowhere",
  });
  expect(await unvisited(Object.values(places))).toEqual([]);
};

/** Pages of the dashboard's table that none of these addresses shows. */
const unvisited = async (addresses: readonly string[]): Promise<string[]> => {
  const source = await readFile(new URL("../../dashboard/shell/page-at.tsx", import.meta.url), "utf8");
  const pages = [...source.matchAll(/^ {2}(?:"([^"]*)"|(\w+)): (?:\(|[A-Z]\w*,$)/gm)].map(
    ([, quoted, plain]) => quoted ?? plain ?? "",
  );
  expect(pages.length).toBeGreaterThan(10);
  const shown = addresses.map((address) => address.split("?")[0] ?? "");
  const isShown = (page: string): boolean => {
    const form = new RegExp(`^${page.replace("*", "[^/]+")}$`);
    return shown.some((address) => form.test(address));
  };
  return pages.filter((page) => !isShown(page));
};
