// `npm run chaos`: runs it, reports progress, prints every violation, and ends with 1 if there is one.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { runBatchChaos } from "./batch-run.ts";
import { type ChaosReport, runChaos } from "./run.ts";

const SAY_EVERY_KILLS = 10;
const MAX_SHOWN = 20;
const USAGE = "npm run chaos -- [--batch <lines>] [--kills 200] [--seed <number>]";

const wholeNumber = (name: string, given: string): number => {
  if (/^\d{1,9}$/.test(given)) return Number(given);
  console.error(`--${name} must be a whole number, not "${given}".\n${USAGE}`);
  process.exit(2);
};

const { values } = parseArgs({
  options: {
    batch: { type: "string" },
    kills: { type: "string", default: "200" },
    seed: { type: "string", default: String(Date.now() % 1e9) },
  },
});
const kills = wholeNumber("kills", values.kills);
const seed = wholeNumber("seed", values.seed);

const summary = ({ evidence, cuts, durationMs, violations }: ChaosReport): string => {
  const { history, jobs, runs } = evidence;
  const statuses = Object.entries(Object.groupBy([...jobs.values()], ({ read }) => read?.status ?? "lost"));
  const counts = statuses.map(([status, same]) => `${same?.length} ${status}`).join(", ");
  return [
    `${kills} kills, ${cuts} connections cut, ${history.callCount} calls (${history.unansweredCount} unanswered), ` +
      `${history.of("handed").length} leases handed out, ${history.of("halt").length} halts, ${runs.length} scheduled runs`,
    `${jobs.size} jobs: ${counts}`,
    `${violations.length} violations in ${Math.round(durationMs / 1000)} s (seed ${seed})`,
  ].join("\n");
};

/** The whole record, for finding the cause. */
const keep = ({ evidence, violations }: ChaosReport): string => {
  const file = path.join(mkdtempSync(path.join(tmpdir(), "signalbox-chaos-record-")), "record.jsonl");
  const lines = [...violations, ...evidence.history.entries, ...evidence.jobs.values(), ...evidence.runs];
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join("\n"));
  return file;
};

// Its servers and workers are in process groups of their own, so Ctrl-C must be passed on.
const ending = new AbortController();
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => ending.abort());

const ended = (error: unknown): never => {
  if (!ending.signal.aborted) throw error;
  console.error("Ended before it was done; nothing was judged.");
  process.exit(1);
};

/** One batch of so many lines, instead of jobs of all kinds. */
const killBatch = async (lines: number): Promise<never> => {
  const onKill = (kill: number, which: string, done: number): void =>
    console.log(`kill ${kill}: ${which}, with ${done} of ${lines} lines done`);
  const report = await runBatchChaos({ lines, kills, seed, signal: ending.signal, onKill }).catch(ended);
  const { status, answered, refused, violations, durationMs } = report;
  const files = `${answered} lines in the output and ${refused} in the error file`;
  const took = `${Math.round(durationMs / 1000)} s (seed ${seed})`;
  console.log(`${report.kills} kills; the batch is ${status}: ${files}, ${violations.length} violations in ${took}`);
  for (const violation of violations.slice(0, MAX_SHOWN)) console.error(`VIOLATED ${violation}`);
  process.exit(violations.length > 0 ? 1 : 0);
};

if (values.batch !== undefined) await killBatch(wholeNumber("batch", values.batch));

const report = await runChaos({
  kills,
  seed,
  signal: ending.signal,
  onKill: (kill, history) => {
    if (kill % SAY_EVERY_KILLS === 0) console.log(`${kill} kills, ${history.callCount} calls`);
  },
}).catch(ended);
console.log(summary(report));
for (const { invariant, detail } of report.violations.slice(0, MAX_SHOWN))
  console.error(`VIOLATED ${invariant}: ${detail}`);
if (report.violations.length > 0) console.error(`The record: ${keep(report)}`);
process.exit(report.violations.length > 0 ? 1 : 0);
