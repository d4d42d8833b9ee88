// Why a worker is idle: its own state, else the router's answer for each kind of waiting job.

import type { WorkerResource } from "../../contract/fleet/worker.ts";
import type { LiveJob } from "../../contract/live.ts";
import { MAX_PAGE } from "../../contract/words/values.ts";
import { api } from "../api.ts";
import { plural, withLocalTimes } from "../format.ts";
import { LoadState } from "../parts/page.tsx";
import { href } from "../router.ts";
import { isHalted, jobs, queue } from "../state/board.ts";
import { useLoad, useThrottled } from "../state/load.ts";
import { asks, type QueueGroup } from "../state/waiting.ts";
import { whyPaused } from "../state/why-paused.ts";

/** Kinds of waiting jobs that are checked; each costs a request. */
const MAX_KINDS = 5;
const AGAIN_AFTER_MS = 3000;

type WaitingJob = Pick<LiveJob, "id" | "status" | "provider" | "model" | "tags" | "api" | "waiting_reason">;

interface Kind {
  readonly job: WaitingJob;
  readonly many: number;
}

/** The page holds some of the waiting jobs; how many of a kind there are, the queue knows. */
const waitingKinds = (all: readonly WaitingJob[], groups: readonly QueueGroup[]): Kind[] => {
  const waiting = Map.groupBy(groups, asks);
  const kinds = new Map<string, Kind>();
  for (const job of all) {
    if (job.status !== "pending" || kinds.has(asks(job))) continue;
    const many = (waiting.get(asks(job)) ?? []).reduce((sum, { count }) => sum + count, 0);
    kinds.set(asks(job), { job, many: Math.max(1, many) });
  }
  return [...kinds.values()].sort((one, other) => other.many - one.many).slice(0, MAX_KINDS);
};

const ownReason = (worker: WorkerResource): string | null => {
  if (worker.status === "offline")
    return "It is offline: its last heartbeat is too old. Start it again on its machine.";
  if (isHalted.value) return "The killswitch is engaged: no worker gets jobs.";
  if (worker.paused) return `It is paused: ${withLocalTimes(whyPaused(worker))}.`;
  if (worker.concurrency === 0) return "It reports a concurrency of 0, so it takes no jobs.";
  if (worker.current_load >= worker.concurrency) return "It is not idle: all its places are in use.";
  return null;
};

const Kinds = ({ instance, kinds }: { instance: string; kinds: readonly Kind[] }) => {
  const ids = kinds.map(({ job }) => job.id).join();
  const { data, error, reload } = useLoad(`${instance} ${ids}`, async (signal) => {
    const answers = kinds.map(async ({ job }) => {
      const { workers } = await api.jobs.explain({ job_id: job.id, worker: instance }, { signal });
      return [asks(job), workers[0]?.reasons ?? []] as const;
    });
    return new Map(await Promise.all(answers));
  });
  if (data === null || error !== null) return <LoadState data={data} error={error} retry={reload} what="what waits" />;
  // A kind that is new is not shown before it is explained.
  const explained = kinds.filter(({ job }) => data.has(asks(job)));
  return (
    <ul class="concerns">
      {explained.map(({ job, many }) => (
        <li key={job.id}>
          <span>
            <a href={href(["jobs", job.id])}>{many === 1 ? "A waiting job" : plural(many, "waiting job")}</a>:{" "}
            {withLocalTimes(data.get(asks(job))?.join("; ") || (job.waiting_reason ?? "it is about to be assigned"))}
          </span>
        </li>
      ))}
    </ul>
  );
};

export const IdleReasons = ({ worker }: { worker: WorkerResource }) => {
  const all = useThrottled(jobs.value, AGAIN_AFTER_MS);
  const waiting = useThrottled(queue.value?.total ?? 0, AGAIN_AFTER_MS);
  const own = ownReason(worker);
  const groups = queue.value?.groups ?? [];
  const known = waitingKinds([...all.values()], groups);
  // The page holds the newest jobs; those that wait may be older.
  const isAsked = own === null && known.length === 0 && waiting > 0;
  const { data, error, reload } = useLoad(isAsked ? `waiting ${waiting}` : null, (signal) =>
    api.jobs.list({ status: "pending", sort: "-created_at", limit: MAX_PAGE, max_chars: 0 }, { signal }),
  );
  if (own !== null) return <p>{own}</p>;
  if (isAsked && (data === null || error !== null))
    return <LoadState data={data} error={error} retry={reload} what="what waits" />;
  const kinds = isAsked ? waitingKinds(data?.jobs ?? [], groups) : known;
  if (kinds.length === 0) return <p>No job waits.</p>;
  return <Kinds instance={worker.instance} kinds={kinds} />;
};
