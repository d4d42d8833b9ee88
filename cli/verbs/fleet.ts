// Workers and the killswitch.

import { KILLSWITCH_LEVELS } from "../../contract/values.ts";
import type { WorkerResource } from "../../contract/worker.ts";
import { UsageError } from "../failure.ts";
import type { Column } from "../output.ts";
import type { Context, Verb } from "../verb.ts";

const INSTANCE = { name: "instance", says: "the worker's name" } as const;

const COLUMNS: readonly Column<WorkerResource>[] = [
  { title: "worker", of: ({ instance }) => instance },
  { title: "status", of: ({ status, paused }) => (paused ? `${status}, paused` : status) },
  { title: "provider", of: ({ provider }) => provider },
  { title: "load", of: ({ current_load, concurrency }) => `${current_load}/${concurrency}` },
  { title: "last heartbeat", of: ({ last_heartbeat }) => last_heartbeat },
  { title: "tags", of: ({ tags }) => tags },
];

const showWorker = ({ output }: Context, worker: WorkerResource): void =>
  output.record(worker, [
    ["worker", worker.instance],
    ["status", worker.status],
    ["paused", worker.paused ? (worker.pause_reason ?? "yes") : null],
    ["provider", worker.provider],
    ["models", worker.models],
    ["tags", worker.tags],
    ["load", `${worker.current_load}/${worker.concurrency}`],
    ["last heartbeat", worker.last_heartbeat],
    ["version", worker.version],
  ]);

const workers: readonly Verb[] = [
  {
    name: "workers list",
    says: "Lists all workers",
    run: async ({ client, output, signal }) => {
      const found: WorkerResource[] = [];
      const pages = client().workers.list({ limit: 200 }, { signal });
      for await (const worker of pages) found.push(worker);
      output.table({ workers: found, total: (await pages).total }, found, COLUMNS);
    },
  },
  {
    name: "workers get",
    says: "Shows a worker",
    args: [INSTANCE],
    run: async (context, input) =>
      showWorker(context, await context.client().workers.get(input.arg("instance"), { signal: context.signal })),
  },
  {
    name: "workers pause",
    says: "Pauses a worker: it gets no new jobs, its running jobs continue",
    args: [INSTANCE],
    flags: {
      reason: { takes: "words", says: "why; shown as the worker's pause reason" },
      until: { takes: "time", says: "when to resume automatically (RFC 3339)" },
    },
    run: async (context, input) => {
      const pause = input.given("reason", "until");
      showWorker(
        context,
        await context.client().workers.pause(input.arg("instance"), pause, { signal: context.signal }),
      );
    },
  },
  {
    name: "workers resume",
    says: "Resumes a worker",
    args: [INSTANCE],
    run: async (context, input) =>
      showWorker(context, await context.client().workers.resume(input.arg("instance"), { signal: context.signal })),
  },
  {
    name: "workers forget",
    says: "Deletes an offline worker",
    args: [INSTANCE],
    run: async ({ client, output, signal }, input) => {
      await client().workers.forget(input.arg("instance"), { signal });
      output.say(`${input.arg("instance")} is deleted.`);
    },
  },
];

const showKillswitch = async (
  { output }: Context,
  asked: ReturnType<ReturnType<Context["client"]>["killswitch"]["get"]>,
) => {
  const state = await asked;
  output.record(state, [
    ["level", state.level],
    ["active", state.active ? "yes" : "no"],
    ["reason", state.reason],
    ["since", state.activated_at],
    ["by", state.activated_by],
    ["halted jobs", state.active ? state.halted_jobs : null],
    ["confirmed workers", state.active ? state.confirmed_workers : null],
  ]);
};

const levelOf = (text: string): number => {
  const level = KILLSWITCH_LEVELS.find((one) => String(one) === text);
  if (level !== undefined) return level;
  throw new UsageError(`the level is one of ${KILLSWITCH_LEVELS.join(", ")}, not "${text}"`);
};

const killswitch: readonly Verb[] = [
  {
    name: "killswitch on",
    says: "Engages the killswitch: 1 stops dispatch, 2 also schedules, 3 also new jobs, 4 cancels all work",
    args: [{ name: "level", says: "1 to 4" }],
    flags: { reason: { takes: "words", says: "why; everyone sees it (required)" } },
    run: async (context, input) => {
      const level = levelOf(input.arg("level"));
      const reason = input.text("reason");
      if (reason === undefined) throw new UsageError("--reason is missing: say why work is stopped");
      const { killswitch } = context.client();
      await showKillswitch(context, killswitch.engage({ level, reason }, { signal: context.signal }));
    },
  },
  {
    name: "killswitch off",
    says: "Clears the killswitch; workers stay paused without --resume-all",
    flags: { "resume-all": { takes: null, says: "also resumes the workers that it paused" } },
    run: (context, input) =>
      showKillswitch(
        context,
        context.client().killswitch.clear({ resume_all: input.is("resume-all") }, { signal: context.signal }),
      ),
  },
  {
    name: "killswitch status",
    says: "Shows whether the killswitch is engaged, and why",
    run: (context) => showKillswitch(context, context.client().killswitch.get({ signal: context.signal })),
  },
];

export const fleetCommands: readonly Verb[] = [...workers, ...killswitch];
