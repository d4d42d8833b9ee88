// A run: the self-hosted server under load, killed repeatedly; then a calm phase, and the check of the record.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Random } from "../simulation/platform/random.ts";
import { killChild } from "../support/child-processes.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { resumeEverybody, runClient, runOperator } from "./clients.ts";
import { CuttingProxy } from "./cutting-proxy.ts";
import { type Evidence, gatherEvidence } from "./evidence.ts";
import { History } from "./history.ts";
import { runHttpWorker } from "./http-worker.ts";
import { findViolations, type Violation } from "./invariants.ts";
import { runSocketWorker } from "./socket-worker.ts";
import { callUntilAnswered, type Stage } from "./stage.ts";
import { runWorkerProcess } from "./worker-process.ts";

const CLIENTS = 8;
const WORKERS_A_KIND = 3;
const WORKER_PROCESSES = 2;
const MIN_UPTIME_MS = 150;
const MAX_UPTIME_MS = 1_400;
const DRAIN_WITHIN_MS = 60_000;
const DRAIN_POLL_MS = 250;
const SCHEDULE = "tick";
const OPEN_STATUSES = ["pending", "assigned", "running"] as const;

/** Deadlines short enough to pass during a run. */
const CONFIG = {
  jobs: { timeout_seconds: 8, reap_stale_after_seconds: 3, accept_within_seconds: 1, max_attempts: 4 },
  presence: { heartbeat_interval_seconds: 1, offline_after_seconds: 3 },
  providers: { chaos: { rate_limit: { retry_after_seconds: 0.2, max_retries: 2 } } },
};

export interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** Ends it early, after everything it started has been stopped. */
  readonly signal?: AbortSignal;
  readonly onKill?: (kill: number, history: History) => void;
}

export interface ChaosReport {
  readonly violations: readonly Violation[];
  readonly evidence: Evidence;
  readonly cuts: number;
  readonly durationMs: number;
}

export const runChaos = async (options: ChaosOptions): Promise<ChaosReport> => {
  const startedAt = performance.now();
  const dataDir = mkdtempSync(path.join(tmpdir(), "signalbox-chaos-"));
  const random = new Random(options.seed);
  const proxies = { rough: new CuttingProxy(random.next), smooth: new CuttingProxy(random.next) };
  let server = await startSelfHosted(dataDir);
  const stage = await openStage(proxies, server, random);
  const players: Promise<void>[] = [];
  try {
    await prepare(stage);
    players.push(...startPlayers(stage));
    const operator = runOperator(stage);
    players.push(operator);
    proxies.rough.cut(true);
    for (let kill = 1; kill <= options.kills; kill += 1) {
      await pause(MIN_UPTIME_MS + random.next() * (MAX_UPTIME_MS - MIN_UPTIME_MS));
      options.signal?.throwIfAborted();
      server = await killOne(dataDir, server, proxies, random);
      options.onKill?.(kill, stage.history);
    }
    stage.isRough = false;
    await operator;
    await calmDown(stage, proxies);
    // A worker that is still stopped would tell what a cancelled job cost between two reads of that job.
    stage.isOver = true;
    await Promise.all(players);
    const evidence = await gatherEvidence({ ...stage, isOver: false }, clientTags(), SCHEDULE);
    const violations = findViolations(evidence);
    const cuts = proxies.rough.cutCount;
    return { violations, evidence, cuts, durationMs: performance.now() - startedAt };
  } finally {
    stage.isOver = true;
    stage.isRough = false;
    for (const proxy of Object.values(proxies)) proxy.close();
    await server.kill();
    await Promise.allSettled(players);
    rmSync(dataDir, { recursive: true, force: true });
  }
};

/** The whole server, or one of its processes, which it then restarts itself. */
const KILLED = ["all", "serving", "history"] as const;

const killOne = async (dataDir: string, server: SelfHosted, proxies: Proxies, random: Random): Promise<SelfHosted> => {
  const killed = KILLED[Math.floor(random.next() * KILLED.length)] ?? "all";
  if (killed !== "all" && killChild(dataDir, killed)) return server;
  lead(proxies, null);
  await server.kill();
  const next = await startSelfHosted(dataDir);
  lead(proxies, next.url);
  return next;
};

type Proxies = { readonly rough: CuttingProxy; readonly smooth: CuttingProxy };

const lead = (proxies: Proxies, url: string | null): void => {
  for (const proxy of Object.values(proxies)) proxy.leadTo(url);
};

const openStage = async (proxies: Proxies, server: SelfHosted, random: Random): Promise<Stage> => {
  lead(proxies, server.url);
  const [rough, smooth] = await Promise.all([proxies.rough.listen(), proxies.smooth.listen()]);
  const { adminKey } = server;
  return { random, history: new History(), adminKey, rough, smooth, isRough: true, isOver: false };
};

const prepare = async (stage: Stage): Promise<void> => {
  const schedule = { name: SCHEDULE, interval: "1s", prompt: "tick" };
  for (const [method, where, body] of [
    ["PUT", "/config", CONFIG],
    ["POST", "/api/schedules", schedule],
  ] as const) {
    const answer = await callUntilAnswered(stage, stage.smooth, { method, path: where, body });
    if (answer?.code !== null) throw new Error(`${method} ${where}: ${JSON.stringify(answer?.body)}`);
  }
};

const clientTags = (): string[] => Array.from({ length: CLIENTS }, (_, index) => `from-c${index}`);

const startPlayers = (stage: Stage): Promise<void>[] => {
  const tags = clientTags().join(",");
  const each = (count: number, play: (index: number) => Promise<void>) =>
    Array.from({ length: count }, (_, index) => play(index));
  return [
    ...each(CLIENTS, (index) => runClient(stage, `c${index}`)),
    ...each(WORKERS_A_KIND, (index) => runHttpWorker(stage, `http-${index}`, tags, index % 2 === 0)),
    ...each(WORKERS_A_KIND, (index) => runSocketWorker(stage, `socket-${index}`, tags)),
    ...each(WORKER_PROCESSES, (index) => runWorkerProcess(stage, `process-${index}`, tags)),
  ];
};

/** No more cuts or new jobs, all workers active; ends when no job is open, or when that takes too long. */
const calmDown = async (stage: Stage, proxies: Proxies): Promise<void> => {
  proxies.rough.cut(false);
  const body = { status: "paused" };
  await callUntilAnswered(stage, stage.smooth, { method: "PUT", path: `/api/schedules/${SCHEDULE}`, body });
  const giveUpAt = performance.now() + DRAIN_WITHIN_MS;
  while (performance.now() < giveUpAt) {
    await resumeEverybody(stage);
    if ((await countOpen(stage)) === 0) return;
    await pause(DRAIN_POLL_MS);
  }
};

const countOpen = async (stage: Stage): Promise<number> => {
  let open = 0;
  for (const status of OPEN_STATUSES) {
    const call = { method: "GET", path: `/api/jobs?status=${status}&limit=1` } as const;
    const answer = await callUntilAnswered(stage, stage.smooth, call);
    open += answer?.status === 200 ? (answer.body as { total: number }).total : 1;
  }
  return open;
};
