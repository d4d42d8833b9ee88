// Which workers of leased jobs are offline or unknown. From any other, the service does not take a job back.

import { ApiProblem } from "../../contract/client/problem.ts";
import type { LiveJob } from "../../contract/live.ts";
import { isLeasedStatus } from "../../contract/words/values.ts";
import { api } from "../api.ts";
import { useLoad, useRounds } from "./load.ts";

/** No message tells that a worker fell silent. */
const LOOK_MS = 10_000;

const isLost = async (instance: string, signal: AbortSignal): Promise<boolean> => {
  try {
    return (await api.workers.get(instance, { signal })).status === "offline";
  } catch (problem) {
    if (problem instanceof ApiProblem && problem.status === 404) return true;
    throw problem;
  }
};

type Leased = Pick<LiveJob, "status" | "assigned_worker">;

/** Of the workers of these jobs: at most a page of them. */
export const useLostWorkers = (jobs: readonly Leased[]): ReadonlySet<string> => {
  const holders = jobs.flatMap(({ status, assigned_worker: worker }) =>
    worker !== null && isLeasedStatus(status) ? [worker] : [],
  );
  const workers = [...new Set(holders)].sort();
  const round = useRounds(LOOK_MS, workers.length > 0);
  const { data } = useLoad(workers.length === 0 ? null : JSON.stringify([workers, round]), async (signal) => {
    const found = await Promise.all(workers.map((instance) => isLost(instance, signal)));
    return workers.filter((_, at) => found[at]);
  });
  return new Set(data);
};
