// A batch on a self-hosted server whose processes are killed while it runs: from its first line, which is being read,
// to its last. Afterwards every line's name stands once in its two files, with the answer to that line.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { pickOf, Random } from "../simulation/platform/random.ts";
import { killChild, killServing } from "../support/child-processes.ts";
import { SIGNALBOX } from "../support/command-line.ts";
import { startSelfHosted } from "../support/self-hosted.ts";
import { CuttingProxy } from "./cutting-proxy.ts";
import { type Answer, History } from "./history.ts";
import { type Call, callUntilAnswered, type Stage } from "./stage.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const ENDPOINT = "/v1/chat/completions";
const WORKERS = 2;
const CONCURRENCY = "64";
const LOOK_EVERY_MS = 20;
/** A batch that says nothing new for so long hangs. */
const SILENT_MS = 180_000;
/** The object's process most often: it has the lines. */
const KILLED = ["serving", "serving", "serving", "history", "Node", "all"] as const;
type Killed = (typeof KILLED)[number];

export interface BatchChaosOptions {
  readonly lines: number;
  readonly kills: number;
  readonly seed: number;
  readonly signal?: AbortSignal;
  readonly onKill?: (kill: number, which: Killed, done: number) => void;
}

export interface BatchChaosReport {
  readonly status: string;
  /** Names in the output, and in the error file. */
  readonly answered: number;
  readonly refused: number;
  readonly violations: readonly string[];
  readonly kills: number;
  readonly durationMs: number;
}

interface BatchState {
  readonly status: string;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly ended_at: string | null;
  readonly output_file: string | null;
  readonly error_file: string | null;
}

const nameOf = (line: number): string => `line-${line}`;
const textOf = (name: string): string => `the text of ${name}`;

const inputOf = (lines: number): string =>
  Array.from({ length: lines }, (_, line) => {
    const messages = [{ role: "user", content: textOf(nameOf(line)) }];
    const body = { model: "echo", messages };
    return JSON.stringify({ custom_id: nameOf(line), method: "POST", url: ENDPOINT, body });
  }).join("\n");

/** Behind this the batch may have ended before anybody looks. */
const LAST_PLACE = 0.8;

/** The places of the kills: how many lines have ended. The first comes while the file is read. */
const placesOf = (kills: number, lines: number, random: Random): number[] =>
  Array.from({ length: kills }, (_, at) => (at === 0 ? 0 : Math.floor(random.next() * LAST_PLACE * lines))).sort(
    (a, b) => a - b,
  );

export const runBatchChaos = async (options: BatchChaosOptions): Promise<BatchChaosReport> => {
  const startedAt = performance.now();
  const dataDir = mkdtempSync(path.join(tmpdir(), "signalbox-chaos-"));
  const random = new Random(options.seed);
  const proxy = new CuttingProxy(random.next);
  let server = await startSelfHosted(dataDir);
  proxy.leadTo(server.url);
  const address = await proxy.listen();
  const { adminKey } = server;
  const shared = { random, history: new History(), adminKey, rough: address, smooth: address };
  const stage: Stage = { ...shared, isRough: false, isOver: false };
  const workers = Array.from({ length: WORKERS }, (_, at) => startWorker(stage, `worker-${at}`));
  const killOne = async (): Promise<Killed> => {
    const which = pickOf(KILLED, random.next()) ?? "serving";
    if (which === "Node" && killServing(dataDir)) return which;
    if (which !== "Node" && which !== "all" && killChild(dataDir, which)) return which;
    proxy.leadTo(null);
    await server.kill();
    server = await startSelfHosted(dataDir);
    proxy.leadTo(server.url);
    return "all";
  };
  try {
    const id = await beginBatch(stage, options.lines);
    const { batch, kills } = await watch(stage, id, options, killOne);
    const judged = await judge(stage, batch, options.lines);
    return { ...judged, status: batch.status, kills, durationMs: performance.now() - startedAt };
  } finally {
    stage.isOver = true;
    for (const worker of workers) await end(worker);
    proxy.close();
    await server.kill();
    rmSync(dataDir, { recursive: true, force: true });
  }
};

const startWorker = (stage: Stage, instance: string): ChildProcess => {
  const flags = ["--instance", instance, "--runtime", "echo", "--provider", "echo", "--concurrency", CONCURRENCY];
  const child = spawn(process.execPath, [SIGNALBOX, "worker", ...flags], {
    cwd: ROOT,
    env: { ...process.env, SERVICE_API_URL: stage.smooth, SERVICE_API_KEY: stage.adminKey },
    stdio: "ignore",
  });
  process.once("exit", () => child.kill("SIGKILL"));
  return child;
};

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
};

const ask = async (stage: Stage, call: Call): Promise<Answer["body"]> => {
  const answer = await callUntilAnswered(stage, stage.smooth, call);
  if (answer !== null && answer.status < 300) return answer.body;
  throw new Error(`${call.method} ${call.path}: ${answer?.status} ${JSON.stringify(answer?.body)}`);
};

const beginBatch = async (stage: Stage, lines: number): Promise<string> => {
  const headers = { authorization: `Bearer ${stage.adminKey}`, "content-type": "application/jsonl" };
  const init = { method: "POST", headers, body: inputOf(lines) };
  const made = await fetch(`${stage.smooth}/api/files?purpose=batch&name=in.jsonl`, init);
  const file = (await made.json()) as { id: string };
  const body = { input_file_id: file.id, endpoint: ENDPOINT, completion_window: "24h" };
  return ((await ask(stage, { method: "POST", path: "/v1/batches", body })) as { id: string }).id;
};

/** Kills at each place, until the batch has ended. */
const watch = async (
  stage: Stage,
  id: string,
  { lines, kills, signal, onKill }: BatchChaosOptions,
  killOne: () => Promise<Killed>,
): Promise<{ batch: BatchState; kills: number }> => {
  const places = placesOf(kills, lines, stage.random);
  let killed = 0;
  let known = { text: "", at: performance.now() };
  for (;;) {
    signal?.throwIfAborted();
    const batch = (await ask(stage, { method: "GET", path: `/api/batches/${id}` })) as BatchState;
    const { status, completed, failed, cancelled } = batch;
    const done = completed + failed + cancelled;
    if (batch.ended_at !== null) return { batch, kills: killed };
    while ((places[killed] ?? Number.POSITIVE_INFINITY) <= done) {
      await pause(stage.random.next() * 5 * LOOK_EVERY_MS);
      const which = await killOne();
      killed += 1;
      onKill?.(killed, which, done);
    }
    const text = `${status}, ${done} of ${lines}`;
    if (text !== known.text) known = { text, at: performance.now() };
    else if (performance.now() - known.at > SILENT_MS) throw new Error(`the batch hangs: ${text}`);
    await pause(LOOK_EVERY_MS);
  }
};

interface Line {
  readonly custom_id: string;
  readonly response: { readonly body: unknown } | null;
}

async function* linesOf(stage: Stage, file: string | null): AsyncGenerator<Line> {
  if (file === null) return;
  const headers = { authorization: `Bearer ${stage.adminKey}` };
  const answer = await fetch(`${stage.smooth}/api/files/${file}/content`, { headers });
  if (!answer.ok || answer.body === null) throw new Error(`the file ${file}: ${answer.status}`);
  for await (const line of createInterface({ input: Readable.fromWeb(answer.body as never) }))
    yield JSON.parse(line) as Line;
}

const judge = async (
  stage: Stage,
  { status, output_file, error_file }: BatchState,
  lines: number,
): Promise<Pick<BatchChaosReport, "answered" | "refused" | "violations">> => {
  const violations = status === "completed" ? [] : [`the batch is ${status}`];
  const seen = new Map<string, number>();
  const count = (name: string): void => void seen.set(name, (seen.get(name) ?? 0) + 1);
  let [answered, refused] = [0, 0];
  for await (const { custom_id: name, response } of linesOf(stage, output_file)) {
    answered += 1;
    count(name);
    // Echo says what it was asked, so that another line's answer shows.
    if (!JSON.stringify(response?.body ?? null).includes(`"${textOf(name)}"`))
      violations.push(`${name} has another line's answer`);
  }
  for await (const { custom_id: name } of linesOf(stage, error_file)) {
    refused += 1;
    count(name);
  }
  for (let line = 0; line < lines; line += 1) {
    const times = seen.get(nameOf(line)) ?? 0;
    if (times !== 1) violations.push(`${nameOf(line)} stands ${times} times in the batch's files`);
    seen.delete(nameOf(line));
  }
  for (const name of seen.keys()) violations.push(`${name} was never asked`);
  return { answered, refused, violations };
};
