// What a tenant with a long history costs its readers: how far history is behind after a burst, how long each kind of
// read takes at few jobs and at many, what is on disk, and how soon a server with all of it starts.

import path from "node:path";
import { Connection } from "../connection.ts";
import { endJobs } from "../dashboard/filled-tenant.ts";
import { figure } from "../figures.ts";
import { promptsOf } from "../history/real-text.ts";
import { untilQuiet } from "../measure/quiet.ts";
import { type Stored, storedBelow } from "../measure/stored-bytes.ts";
import type { Bench, Scale } from "../plan.ts";
import { createTenant, startSignalbox, type Tenant } from "../signalbox.ts";

const JOBS: Readonly<Record<Scale, number>> = { quick: 30_000, usual: 300_000, full: 2_000_000 };
/** A read may take three times as long at all jobs as at these. */
const FEW_JOBS: Readonly<Record<Scale, number>> = { quick: 10_000, usual: 20_000, full: 20_000 };
const PROMPT_CHARS = 200;
const SAMPLES = 20;
const P95 = 0.95;
const OK = 200;

const FILTERS: readonly string[] = [
  ...["status=failed", "model=qwen3:14b", "provider=vllm", "tag=socket", "worker=finisher-1"],
  ...["error_code=model_broke", "metadata.team=eu-west", "unpriced=true", "since=2020-01-01T00:00:00Z"],
];
const pairsOf = (all: readonly string[]): string[] =>
  all.flatMap((one, index) => all.slice(index + 1).map((other) => `${one}&${other}`));
/** Only the first jobs have it. */
const OLD_WORD = "ancient";
/** The beginnings of all ids are among them. */
const WORDS: readonly string[] = ["archive", "arch", "tenant", "s", "worker lease", "nowhere", "0", "01", OLD_WORD];
/** Not the index's own order. */
const SORTS: readonly string[] = ["finished_at", "cost_usd"];
const searchOf = (words: string): string => `q=${encodeURIComponent(words)}`;

/** The kinds of reads, and what belongs to each. */
const readsOf = (job: string): Readonly<Record<string, readonly string[]>> => ({
  "a list": [
    "",
    "&offset=10000",
    ...["created_at", "-created_at", "finished_at", "-cost_usd"].map((by) => `&sort=${by}`),
  ].map((more) => `/api/jobs?limit=50${more}`),
  "a list with a filter": FILTERS.map((one) => `/api/jobs?limit=50&${one}`),
  "a list with two": pairsOf(FILTERS).map((two) => `/api/jobs?limit=50&${two}`),
  "a list with a filter by end or cost": SORTS.flatMap((by) =>
    FILTERS.map((one) => `/api/jobs?limit=50&${one}&sort=${by}`),
  ),
  "a later page with a filter": FILTERS.map((one) => `/api/jobs?limit=50&${one}&offset=10000`),
  "a search": WORDS.map((words) => `/api/jobs?limit=50&${searchOf(words)}`),
  "a search with a filter": WORDS.flatMap((words) =>
    FILTERS.map((one) => `/api/jobs?limit=50&${searchOf(words)}&${one}`),
  ),
  "a search by end or cost": SORTS.flatMap((by) =>
    WORDS.map((words) => `/api/jobs?limit=50&${searchOf(words)}&sort=${by}`),
  ),
  "a count": [...FILTERS, ...WORDS.map(searchOf)].map((all) => `/api/jobs?count_only=true&${all}`),
  failures: ["/api/failures", `/api/failures?since=${new Date(Date.now() - 2_592_000_000).toISOString()}`],
  cost: ["", "/by/model", "/by/tag", "/by/worker", "/by/metadata.team"].map((by) => `/api/cost${by}`),
  "a job": ["", "/events", "/attempts"].map((of) => `/api/jobs/${job}${of}`),
});

export const growth = async ({ folder, scale, say }: Bench): Promise<void> => {
  const [few, all] = [FEW_JOBS[scale], JOBS[scale]];
  const dataDir = path.join(folder, "growth");
  const say1 = (what: string, unit: string, signalbox: number, more: { ratio?: number; note?: string } = {}): void =>
    say(figure({ part: "growth", what, unit, signalbox, ...more }));
  const textOf = promptsOf(PROMPT_CHARS);
  const promptOf = (index: number): string => (index < few ? `${textOf(index)} ${OLD_WORD}` : textOf(index));
  const served = await startSignalbox(dataDir);
  let tenant: Tenant;
  try {
    tenant = await createTenant(served.port);
    await endJobs(tenant, few, promptOf);
    await untilQuiet(served);
    const before = await measured(tenant);
    const { tookMs, behindMs } = await endJobs(tenant, all - few, (index) => promptOf(few + index));
    say1(`${all} jobs: taken`, "jobs/s", ((all - few) * 1000) / tookMs);
    say1(`${all} jobs: history behind after them`, "ms", behindMs);
    await untilQuiet(served);
    for (const [kind, { p95, target }] of await measured(tenant)) {
      const { p95: ofFew = Number.NaN } = before.get(kind) ?? {};
      const note = `${target}; the ratio is to ${few} jobs: ${ofFew.toPrecision(3)} ms`;
      say1(`${all} jobs: ${kind}, the slowest, p95`, "ms", p95, { ratio: p95 / ofFew, note });
    }
  } finally {
    await served.stop();
  }
  const bytes = (what: string, { fileBytes, usedBytes }: Stored): void =>
    say1(`${all} jobs: on disk, ${what}`, "B/job", fileBytes / all, { note: `in use ${Math.round(usedBytes / all)}` });
  const below = (part: string): Stored => storedBelow(path.join(dataDir, "state", part));
  bytes("history", below("d1"));
  bytes("the object, after the burst", below("objects"));
  const again = await startSignalbox(dataDir);
  say1(`${all} jobs: a server starts`, "ms", again.readyMs);
  const startedAt = performance.now();
  const connection = await Connection.open(again.port, tenant.authorization);
  await connection.call("GET", "/api/jobs?limit=50");
  say1(`${all} jobs: its first list of jobs`, "ms", performance.now() - startedAt);
  connection.close();
  await again.stop();
  bytes("the object, after the next start", below("objects"));
};

interface Slowest {
  readonly p95: number;
  readonly target: string;
}

/** Of each kind the read with the longest p95. */
const measured = async ({ port, authorization }: Tenant): Promise<Map<string, Slowest>> => {
  const connection = await Connection.open(port, authorization);
  const { jobs } = (await connection.call("GET", "/api/jobs?limit=1")) as { jobs: { id: string }[] };
  const slowest = new Map<string, Slowest>();
  for (const [kind, targets] of Object.entries(readsOf(jobs[0]?.id ?? "")))
    for (const target of targets) {
      const p95 = await p95Of(connection, target);
      if (p95 > (slowest.get(kind)?.p95 ?? 0)) slowest.set(kind, { p95, target });
    }
  connection.close();
  return slowest;
};

const p95Of = async (connection: Connection, target: string): Promise<number> => {
  const took: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const startedAt = performance.now();
    const { status } = await connection.request("GET", target);
    took.push(performance.now() - startedAt);
    if (status !== OK) throw new Error(`GET ${target} was answered with ${status}`);
  }
  return took.sort((one, other) => one - other)[Math.floor(P95 * (SAMPLES - 1))] ?? Number.NaN;
};
