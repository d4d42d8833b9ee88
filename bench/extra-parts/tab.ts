// The dashboard open in a browser while jobs run: its heap after garbage collections, its share of a core, and what its
// socket sends with and without compression. Run only by name; needs Chromium.

import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { type Browser, type CDPSession, chromium } from "playwright-core";
import { WebSocket } from "ws";
import { CHROMIUM } from "../../test/support/chromium.ts";
import { figure } from "../figures.ts";
import { steadyJobs } from "../parts/live.ts";
import type { Bench, Scale } from "../plan.ts";
import { createTenant, openSignalbox, type Tenant } from "../signalbox.ts";

const JOBS_A_SECOND = 100;
const SPAN_MS = 15_000;
const SPANS: Readonly<Record<Scale, number>> = { quick: 4, usual: 8, full: 40 };
/** The first spans fill what is bounded: the newest jobs, the minutes of the hour. */
const SETTLING_SHARE = 0.25;
/** Growth that is noise: of a heap of tens of MiB, over the whole time. */
const MAX_GROWTH_MIB = 3;
const MIB = 1024 * 1024;

export const tab = async ({ signalbox: { port }, scale, say }: Bench): Promise<void> => {
  const count = SPANS[scale];
  const seconds = (count * SPAN_MS) / 1000;
  const tenant = await createTenant(port);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--headless", "--no-sandbox"] });
  const lines = [new TabLine(tenant, true), new TabLine(tenant, false)] as const;
  try {
    const watched = await openTab(browser, tenant);
    const place = await openSignalbox(port, tenant);
    const pace = { warmUpMs: 1_000, measureMs: count * SPAN_MS, rounds: 1 };
    const working = steadyJobs(place, pace, JOBS_A_SECOND);
    const spans = await spansOf(watched, count);
    const rate = await working;
    const note = `the Overview at ${Math.round(rate)} jobs/s for ${seconds} s`;
    const tell = (what: string, unit: string, signalbox: number): void =>
      say(figure({ part: "tab", what, unit, signalbox, note }));
    tell("heap of the tab, first span", "MiB", (spans[0]?.heapBytes ?? 0) / MIB);
    tell("heap of the tab, last span", "MiB", (spans.at(-1)?.heapBytes ?? 0) / MIB);
    const grown = growthOf(spans.map(({ heapBytes }) => heapBytes / MIB));
    say(
      figure({
        part: "tab",
        what: "growth of the tab's heap, as a line through the spans",
        unit: "MiB",
        signalbox: grown,
        note: `${grown <= MAX_GROWTH_MIB ? "flat" : "GROWS"}: at most ${MAX_GROWTH_MIB} MiB; ${note}`,
      }),
    );
    tell("main thread of the tab", "% of a core", (100 * sumOf(spans, "busySeconds")) / seconds);
    const minutes = seconds / 60;
    tell("socket, compressed", "MiB/min", lines[0].bytes / MIB / minutes);
    tell("socket, uncompressed", "MiB/min", lines[1].bytes / MIB / minutes);
  } finally {
    for (const line of lines) line.close();
    await browser.close();
  }
};

interface Span {
  /** After a garbage collection. */
  readonly heapBytes: number;
  readonly busySeconds: number;
}

const sumOf = (spans: readonly Span[], name: keyof Span): number => spans.reduce((sum, span) => sum + span[name], 0);

/** What a straight line through the values rises from the first settled one to the last: a single high value is no growth. */
const growthOf = (all: readonly number[]): number => {
  const values = all.slice(Math.floor(all.length * SETTLING_SHARE));
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const [rise, width] = values.reduce(
    ([up, along], value, at) => [up + (at - middle) * (value - mean), along + (at - middle) ** 2],
    [0, 0] as [number, number],
  );
  return width === 0 ? 0 : (rise / width) * (values.length - 1);
};

const openTab = async (browser: Browser, { port, authorization }: Tenant): Promise<CDPSession> => {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${port}/#key=${authorization.replace("Bearer ", "")}`);
  await page.getByText("Live", { exact: true }).waitFor();
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  return session;
};

const spansOf = async (session: CDPSession, count: number): Promise<Span[]> => {
  const spans: Span[] = [];
  let before = await busySecondsOf(session);
  for (let span = 0; span < count; span += 1) {
    await pause(SPAN_MS);
    const busySeconds = await busySecondsOf(session);
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    spans.push({ heapBytes: usedSize, busySeconds: busySeconds - before });
    before = await busySecondsOf(session);
  }
  return spans;
};

const busySecondsOf = async (session: CDPSession): Promise<number> => {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0;
};

/** A viewer that counts the bytes of its connection. */
class TabLine {
  readonly #socket: WebSocket;
  #connection: Socket | null = null;

  constructor({ port, authorization }: Tenant, perMessageDeflate: boolean) {
    this.#socket = new WebSocket(`ws://127.0.0.1:${port}/live`, {
      headers: { authorization },
      perMessageDeflate,
      createConnection: () => {
        this.#connection = connect(port, "127.0.0.1");
        return this.#connection;
      },
    });
  }

  get bytes(): number {
    return this.#connection?.bytesRead ?? 0;
  }

  close(): void {
    this.#socket.terminate();
  }
}
