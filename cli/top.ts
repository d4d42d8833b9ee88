// What `top` shows: figures of now, rates since the look before, and a screen that fits the terminal.

import type { WorkerResource } from "../contract/fleet/worker.ts";
import type { QueueView } from "../contract/jobs/insight.ts";
import type { JobResource } from "../contract/jobs/job.ts";
import { MINUTE_MS, usdText } from "../contract/words/values.ts";
import { type Sample, samplesOf, sumOf } from "./metrics-text.ts";
import type { ScreenLine } from "./output.ts";
import { type Column, tableLines } from "./terminal/cells.ts";
import { when } from "./terminal/when.ts";

/** Sums since the tenant began, which only grow. */
interface Totals {
  readonly completed: number;
  readonly failed: number;
  readonly tokens: number;
  readonly usd: number;
}

export interface Look {
  readonly at: number;
  readonly running: number;
  readonly waiting: number;
  readonly online: number;
  readonly paused: number;
  readonly offline: number;
  readonly killswitchLevel: number;
  readonly totals: Totals;
}

export const lookOf = (metrics: string, at: number): Look => {
  const samples: readonly Sample[] = samplesOf(metrics);
  const offline = sumOf(samples, "signalbox_workers", { status: "offline" });
  return {
    at,
    running: sumOf(samples, "signalbox_leases"),
    waiting: sumOf(samples, "signalbox_queue_jobs"),
    online: sumOf(samples, "signalbox_workers") - offline,
    paused: sumOf(samples, "signalbox_workers_paused"),
    offline,
    killswitchLevel: sumOf(samples, "signalbox_killswitch_level"),
    totals: {
      completed: sumOf(samples, "signalbox_jobs_total", { status: "completed" }),
      failed: sumOf(samples, "signalbox_jobs_total", { status: "failed" }),
      tokens: sumOf(samples, "signalbox_tokens_total"),
      usd: sumOf(samples, "signalbox_cost_usd_total"),
    },
  };
};

/** Per minute since the look before; null at the first. A crash may take counts back, never below zero here. */
const ratesOf = (now: Look, before: Look | null): Totals | null => {
  if (before === null) return null;
  const rate = (name: keyof Totals): number =>
    (Math.max(0, now.totals[name] - before.totals[name]) * MINUTE_MS) / Math.max(1, now.at - before.at);
  return { completed: rate("completed"), failed: rate("failed"), tokens: rate("tokens"), usd: rate("usd") };
};

/** What a job costs may be far below a hundredth of a cent. */
const NANO_DIGITS = 9;

/** For programs. */
export const figuresOf = (now: Look, before: Look | null) => {
  const rates = ratesOf(now, before);
  const rounded = (value: number | undefined, digits = 4): number | null =>
    value === undefined ? null : Number(value.toFixed(digits));
  return {
    at: new Date(now.at).toISOString(),
    running: now.running,
    waiting: now.waiting,
    completed_per_minute: rounded(rates?.completed),
    failed_per_minute: rounded(rates?.failed),
    tokens_per_minute: rounded(rates?.tokens),
    usd_per_minute: rounded(rates?.usd, NANO_DIGITS),
    workers_online: now.online,
    workers_paused: now.paused,
    workers_offline: now.offline,
    killswitch_level: now.killswitchLevel,
  };
};

export interface Lists {
  readonly jobs: readonly JobResource[];
  readonly workers: readonly WorkerResource[];
  readonly queue: QueueView;
}

const JOBS: readonly Column<JobResource>[] = [
  { title: "running", of: ({ id }) => id },
  { title: "worker", of: ({ assigned_worker }) => assigned_worker },
  { title: "model", of: ({ ran_model, model }) => ran_model ?? model },
  { title: "started", of: ({ started_at }) => when(started_at) },
  { title: "prompt", of: ({ prompt }) => prompt },
];

/** What waits, behind how many of it there are. */
export const GROUP_COLUMNS: readonly Column<QueueView["groups"][number]>[] = [
  { title: "provider", of: ({ provider }) => provider },
  { title: "model", of: ({ model }) => model },
  { title: "tags", of: ({ tags }) => tags },
  { title: "oldest", of: ({ oldest_at }) => when(oldest_at) },
  { title: "reason", of: ({ reason }) => reason },
];

const GROUPS: typeof GROUP_COLUMNS = [{ title: "waiting", of: ({ count }) => count }, ...GROUP_COLUMNS];

const WORKERS: readonly Column<WorkerResource>[] = [
  { title: "worker", of: ({ instance }) => instance },
  { title: "load", of: ({ current_load, concurrency }) => `${current_load}/${concurrency}` },
  { title: "status", of: ({ status, paused }) => (paused ? `${status}, paused` : status) },
  { title: "provider", of: ({ provider }) => provider },
  { title: "tags", of: ({ tags }) => tags },
];

const count = (value: number): string => Math.round(value).toLocaleString("en-US");

const headLines = (now: Look, before: Look | null): string[] => {
  const rates = ratesOf(now, before);
  const aMinute =
    rates === null
      ? ""
      : `; a minute: ${count(rates.completed)} completed, ${count(rates.failed)} failed, ${count(rates.tokens)} tokens, ${usdText(rates.usd)}`;
  const halt = now.killswitchLevel === 0 ? "" : `KILLSWITCH at level ${now.killswitchLevel}; `;
  return [
    `${halt}jobs: ${count(now.running)} under way, ${count(now.waiting)} waiting${aMinute}`,
    `workers: ${count(now.online)} online, ${count(now.paused)} paused, ${count(now.offline)} offline`,
  ];
};

const TITLE_LINES = 2;

/** A table of at most so many lines with its title; none for no rows. */
const section = <Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  lines: number,
  width: number,
): ScreenLine[] => {
  if (rows.length === 0) return [];
  const [title = "", ...shown] = tableLines(rows.slice(0, Math.max(1, lines - TITLE_LINES)), columns, width);
  return [{ text: "" }, { text: title, isTitle: true }, ...shown.map((text) => ({ text }))];
};

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** At most `rows` lines; the tables share what the head leaves. */
export const screenOf = (
  title: string,
  now: Look,
  before: Look | null,
  { jobs, workers, queue }: Lists,
  { columns, rows }: Size,
): ScreenLine[] => {
  const head: ScreenLine[] = [title, ...headLines(now, before)].map((text) => ({ text }));
  const share = Math.floor((rows - head.length) / 3);
  const above = [...head, ...section(jobs, JOBS, share, columns), ...section(queue.groups, GROUPS, share, columns)];
  return [...above, ...section(workers, WORKERS, rows - above.length, columns)].slice(0, rows);
};
