// The ways that a job can go through an object, as the edge in Node sends them: each resolves when its jobs are stored
// as completed.

import { setImmediate as tickEnd } from "node:timers/promises";
import { toPresence } from "../../contract/fleet/worker.ts";
import { toNewJob } from "../../contract/jobs/job.ts";
import type { CoordinatorMessage } from "../../contract/socket.ts";
import { readSocketGroup, SocketGroupWriter } from "../../durable-objects/sockets/socket-group.ts";
import { PROMPT, RESULT } from "../workplace.ts";
import { ADMIN, type EdgeEnd } from "./home.ts";

const SOCKET = 1;
const SOCKET_TAG = "socket";
const CLIENTS = 32;
/** Jobs of one call. */
const MANY = 480;

export type Way = (jobs: number) => Promise<void>;

/** A worker with a socket that completes each job at once; `reportsStart`: and says before that it has begun. */
class SocketWorker {
  readonly #edge: EdgeEnd;
  stored = 0;
  reportsStart = false;

  constructor(edge: EdgeEnd) {
    this.#edge = edge;
    edge.told = (group) => this.#hear(group);
  }

  async open(): Promise<void> {
    await this.#edge.ask("openSocket", JSON.stringify([SOCKET, ADMIN, "library"]));
    const offer = { instance: "library", provider: "bench", tags: SOCKET_TAG, concurrency: 1_000 };
    this.#say([{ type: "presence", id: "hello", ...offer }]);
  }

  #hear(group: string): void {
    const reports: unknown[] = [];
    for (const { text } of readSocketGroup(group).texts)
      for (const message of [JSON.parse(text ?? "[]")].flat() as CoordinatorMessage[]) {
        if (message.type === "job.assigned") reports.push(...this.#reportsOn(message.job));
        else if (message.type === "ack" && message.id.startsWith("end")) {
          if (!message.ok) throw new Error(`a completion was refused: ${JSON.stringify(message)}`);
          this.stored += 1;
        }
      }
    if (reports.length > 0) this.#say(reports);
  }

  #reportsOn({ id, lease }: { id: string; lease: number }): unknown[] {
    const end = { type: "job.completed", id: `end ${id}`, job_id: id, lease, result: RESULT };
    return this.reportsStart ? [{ type: "job.started", id: `start ${id}`, job_id: id, lease }, end] : [end];
  }

  #say(messages: readonly unknown[]): void {
    const group = new SocketGroupWriter();
    group.add(SOCKET, JSON.stringify(messages));
    this.#edge.say(group.take().text);
  }

  async settle(count: number): Promise<void> {
    while (this.stored < count) await tickEnd();
  }
}

const newJob = (tag: string) => ({ ...toNewJob({ prompt: PROMPT, tags: [tag] }), traceparent: null, user: null });
const clients = Array.from({ length: CLIENTS }, (_, client) => ({
  instance: `http-${client}`,
  tag: `client-${client}`,
}));
const NOTHING_SPENT = { usage: null, costUsd: null, model: null };

export const openWays = async (edge: EdgeEnd): Promise<Readonly<Record<string, Way>>> => {
  /** The answers to calls that share a group. */
  const group = async (name: string, requests: readonly unknown[]): Promise<unknown[]> => {
    const calls = requests.map((request) => ({ credential: { ...ADMIN, requestId: "bench" }, name, request }));
    const lines = (await edge.ask("group", JSON.stringify(calls))).split("\n");
    return lines.map((line) => {
      if (!line.startsWith("+")) throw new Error(`${name} answers ${line}`);
      return JSON.parse(line.slice(1));
    });
  };
  const worker = new SocketWorker(edge);
  await worker.open();
  await group(
    "reportPresence",
    clients.map(({ instance, tag }) => ({
      ...toPresence({ instance, provider: "http", tags: tag }),
      viaSocket: false,
    })),
  );
  let keys = 0;
  const batchesOf = (size: number) => async (count: number) => {
    const before = worker.stored;
    for (let made = 0; made < count; made += size) {
      keys += 1;
      const jobs = Array.from({ length: size }, () => newJob(SOCKET_TAG));
      await group("createJobs", [{ jobs, idempotency: { key: `key-${keys}`, bodyHash: "0".repeat(64) } }]);
      await worker.settle(before + made + size);
    }
  };
  return {
    [`${MANY} jobs a call`]: batchesOf(MANY),
    [`${CLIENTS} at once`]: batchesOf(CLIENTS),
    [`${MANY} jobs a call, with reports of the start`]: async (count) => {
      worker.reportsStart = true;
      await batchesOf(MANY)(count);
      worker.reportsStart = false;
    },
    "three calls": async (count) => {
      for (let made = 0; made < count; made += CLIENTS) {
        await group(
          "createJob",
          clients.map(({ tag }) => ({ job: newJob(tag), idempotency: null })),
        );
        const claims = clients.map(({ instance }) => ({ instance, max: 1, isWaiting: false }));
        const claimed = (await group("claim", claims)) as { jobs: { id: string; lease: number }[] }[];
        const ends = claimed.flatMap(({ jobs }) => jobs);
        await group(
          "completeJob",
          ends.map(({ id, lease }) => ({ id, lease, result: RESULT, ...NOTHING_SPENT })),
        );
      }
    },
  };
};
