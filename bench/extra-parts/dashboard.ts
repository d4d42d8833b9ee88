// How long each page of the dashboard takes until its content stands, with 10,000 workers and 100,000 jobs (`--full`: a
// million). Run only by name; needs Chromium. With `--kept <folder>`, what one run has filled, the next one measures.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { CHROMIUM } from "../../test/support/chromium.ts";
import { fillTenant, registerWorkers } from "../dashboard/filled-tenant.ts";
import { pagesOf, type Shown } from "../dashboard/pages.ts";
import { loadedMs, openedMs, watchChanges } from "../dashboard/standing.ts";
import { figure } from "../figures.ts";
import { median } from "../load.ts";
import type { Bench, Scale } from "../plan.ts";
import { createTenant, type Tenant } from "../signalbox.ts";

const BOUND_MS = 400;
/** A page that reads nothing. */
const NOTHING = "nowhere";
const VIEWPORT = { width: 1440, height: 900 };
const FILLED: Readonly<Record<Scale, { workers: number; jobs: number }>> = {
  quick: { workers: 1_000, jobs: 10_000 },
  usual: { workers: 10_000, jobs: 100_000 },
  full: { workers: 10_000, jobs: 1_000_000 },
};

export const dashboard = async ({ signalbox: { port }, scale, pace, say, keptIn }: Bench): Promise<void> => {
  const { workers, jobs } = FILLED[scale];
  const { tenant, shown } = await filled(port, workers, jobs, keptIn);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--headless", "--no-sandbox"] });
  try {
    const page = await signedIn(browser, tenant);
    const rounds = Math.max(3, pace.rounds);
    const floor = await timesOf(page, NOTHING, port, rounds);
    for (const [name, place] of Object.entries(pagesOf(shown))) {
      const taken = await timesOf(page, place, port, rounds);
      for (const way of ["loaded", "opened"] as const)
        say(verdict(`${name}, ${way}`, taken[way], floor[way], `${workers} workers, ${jobs} jobs`));
    }
  } finally {
    await browser.close();
  }
};

interface Filled {
  readonly tenant: Tenant;
  readonly shown: Shown;
}

const filled = async (port: number, workers: number, jobs: number, keptIn: string | null): Promise<Filled> => {
  const file = keptIn === null ? null : path.join(keptIn, `dashboard-${workers}-${jobs}.json`);
  if (file !== null && existsSync(file)) {
    const { tenant, shown } = JSON.parse(readFileSync(file, "utf8")) as Filled;
    const here = { ...tenant, port };
    await registerWorkers(here, workers);
    return { tenant: here, shown };
  }
  const tenant = await createTenant(port);
  const shown = await fillTenant(tenant, workers, jobs);
  if (file !== null) writeFileSync(file, JSON.stringify({ tenant, shown }), { mode: 0o600 });
  return { tenant, shown };
};

/** Medians, in ms: a document of its own, and by a link of the page that is shown. */
const timesOf = async (page: Page, place: string, port: number, rounds: number) => {
  const [loaded, opened]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    loaded.push(await loadedMs(page, `http://127.0.0.1:${port}/#/${place}`));
    await openedMs(page, place === NOTHING ? "" : NOTHING);
    opened.push(await openedMs(page, place));
  }
  return { loaded: median(loaded), opened: median(opened) };
};

const verdict = (what: string, ms: number, floor: number, note: string) =>
  figure({
    part: "dashboard",
    what,
    unit: "ms",
    floor,
    signalbox: ms,
    note: `${ms <= BOUND_MS ? "within" : "OVER"} ${BOUND_MS} ms; ${note}; floor: a page that says "not found"`,
  });

const signedIn = async (browser: Browser, { port, authorization }: Tenant): Promise<Page> => {
  const page = await browser.newPage({ viewport: VIEWPORT });
  await watchChanges(page);
  await page.goto(`http://127.0.0.1:${port}/#key=${authorization.replace("Bearer ", "")}`);
  await page.getByText("Live", { exact: true }).waitFor();
  return page;
};
