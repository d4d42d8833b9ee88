// Workers.

import type { WorkerResource } from "../../contract/fleet/worker.ts";
import { pauseText, WORKER_STATES } from "../../contract/words/values.ts";
import type { Column } from "../terminal/cells.ts";
import { when } from "../terminal/when.ts";
import type { Context, Verb } from "../verb.ts";
import { PAGE_FLAGS, showPages } from "./pages.ts";

const INSTANCE = { name: "instance", says: "the worker's name" } as const;

/** Its runtime may be down: such a worker is idle and gets no jobs. */
const statusOf = ({ status, paused, unavailable }: WorkerResource): string =>
  [status, ...(paused ? ["paused"] : []), ...(unavailable ? ["unavailable"] : [])].join(", ");

const COLUMNS: readonly Column<WorkerResource>[] = [
  { title: "worker", of: ({ instance }) => instance },
  { title: "status", of: statusOf },
  { title: "provider", of: ({ provider }) => provider },
  { title: "load", of: ({ current_load, concurrency }) => `${current_load}/${concurrency}` },
  { title: "last heartbeat", of: ({ last_heartbeat }) => when(last_heartbeat) },
  { title: "tags", of: ({ tags }) => tags },
];

const showWorker = ({ output }: Context, worker: WorkerResource): void =>
  output.record(worker, [
    ["worker", worker.instance],
    ["status", worker.status],
    ["paused", worker.paused ? pauseText(worker.pause_reason ?? "yes", worker.paused_until) : null],
    ["unavailable", worker.unavailable],
    ["provider", worker.provider],
    ["models", worker.models],
    ["tags", worker.tags],
    ["load", `${worker.current_load}/${worker.concurrency}`],
    ["last heartbeat", when(worker.last_heartbeat)],
    ["version", worker.version],
  ]);

export const workerCommands: readonly Verb[] = [
  {
    name: "workers list",
    says: "Lists workers, newest first",
    examples: ["workers list --status offline", "workers list --provider ollama --tag gpu --all"],
    flags: {
      provider: { takes: "name", says: "only workers of this provider" },
      status: { takes: WORKER_STATES.join("|"), says: "only workers in this state" },
      tag: { takes: "tag", says: "only workers that offer this tag" },
      search: { takes: "words", says: "part of the name, the provider, a tag or a model" },
      ...PAGE_FLAGS,
    },
    run: async ({ client, output, signal }, input) => {
      const { search: q, ...fields } = input.given("provider", "tag", "search");
      const filter = { ...fields, q, state: input.choice("status", WORKER_STATES) };
      const read = (limit: number | null) => client().workers.list({ ...filter, limit }, { signal });
      await showPages(output, input, "workers", read, COLUMNS);
    },
  },
  {
    name: "workers get",
    says: "Shows a worker",
    examples: ["workers get gpu-1"],
    args: [INSTANCE],
    run: async (context, input) =>
      showWorker(context, await context.client().workers.get(input.arg("instance"), { signal: context.signal })),
  },
  {
    name: "workers pause",
    says: "Pauses a worker: it gets no new jobs, its running jobs continue",
    examples: ['workers pause gpu-1 --reason "new driver" --until 2h'],
    args: [INSTANCE],
    flags: {
      reason: { takes: "words", says: "why; shown as the worker's pause reason" },
      until: { takes: "time", says: "when to resume automatically: RFC 3339, or a span from now, such as 2h" },
    },
    run: async (context, input) => {
      const pause = { ...input.given("reason"), until: input.time("until", "future") };
      showWorker(
        context,
        await context.client().workers.pause(input.arg("instance"), pause, { signal: context.signal }),
      );
    },
  },
  {
    name: "workers resume",
    says: "Resumes a worker",
    examples: ["workers resume gpu-1"],
    args: [INSTANCE],
    run: async (context, input) =>
      showWorker(context, await context.client().workers.resume(input.arg("instance"), { signal: context.signal })),
  },
  {
    name: "workers forget",
    says: "Deletes an offline worker",
    examples: ["workers forget gpu-1"],
    args: [INSTANCE],
    run: async ({ client, output, signal }, input) => {
      await client().workers.forget(input.arg("instance"), { signal });
      output.say(`${input.arg("instance")} is deleted.`);
    },
  },
];
