// Answers given during the faults must still be true after them.

import type { JobEventResource } from "../../contract/jobs/job.ts";
import type { Evidence } from "./evidence.ts";
import type { EntryOf } from "./history.ts";

/** Refusals that mean the call created no job. */
const REFUSED: ReadonlySet<string> = new Set(["no_eligible_workers", "killswitch_active"]);
/** Two processes may see slightly different clocks. */
const CLOCK_MARGIN_MS = 5;

const SETTLING = {
  complete: ["job.completed"],
  fail: ["job.failed", "job.rate_limited", "job.fell_back"],
  release: ["job.released"],
  start: ["job.started"],
  heartbeat: [],
} as const;

const leaseName = ({ jobId, lease }: { jobId: string; lease: number }): string => `${jobId}/${lease}`;

export const acknowledgedJobsKeepTheirPrompts = ({ history, jobs }: Evidence): string[] =>
  history.of("create").flatMap(({ jobIds, prompts }) =>
    (jobIds ?? []).flatMap((id, index) => {
      const kept = jobs.get(id)?.read?.prompt;
      return kept === prompts[index] ? [] : [`job ${id} was created with "${prompts[index]}" and has "${kept}"`];
    }),
  );

/** A key leads to one job, and no prompt was accepted twice, because each belongs to one key. */
export const keysMakeOneJob = ({ history, jobs }: Evidence): string[] => {
  const byKey = Map.groupBy(history.of("create"), ({ key }) => key);
  byKey.delete(null);
  const answeredTwice = [...byKey].flatMap(([key, calls]) => {
    const ids = new Set(calls.flatMap(({ jobIds }) => jobIds ?? []));
    return ids.size > 1 ? [`the key ${key} led to the jobs ${[...ids].join(", ")}`] : [];
  });
  const unscheduled = [...jobs.values()].filter(({ read }) => read !== null && read.schedule === null);
  const byPrompt = Map.groupBy(unscheduled, ({ read }) => read?.prompt);
  const madeTwice = [...byPrompt].flatMap(([prompt, same]) =>
    same.length > 1 ? [`"${prompt}" was made ${same.length} times: ${same.map(({ id }) => id).join(", ")}`] : [],
  );
  return [...answeredTwice, ...madeTwice];
};

export const refusedCallsLeaveNoJob = ({ history, jobs }: Evidence): string[] => {
  const prompts = new Set([...jobs.values()].map(({ read }) => read?.prompt));
  const byPrompt = Map.groupBy(history.of("create"), ({ prompts: [first] }) => first);
  return [...byPrompt].flatMap(([prompt, calls]) => {
    const isRefused = calls.every(({ code }) => code !== null && REFUSED.has(code));
    return isRefused && prompts.has(prompt) ? [`"${prompt}" was refused, and there is a job of it`] : [];
  });
};

/** The calls are all valid, and no key comes with two bodies, so no other refusal is allowed. */
export const validCallsAreTaken = ({ history }: Evidence): string[] =>
  history
    .of("create")
    .flatMap(({ code, prompts }) =>
      code === null || REFUSED.has(code) ? [] : [`the call for "${prompts[0]}" was refused with ${code}`],
    );

export const batchesAreAllOrNone = ({ history, jobs }: Evidence): string[] => {
  const made = new Set([...jobs.values()].map(({ read }) => read?.prompt));
  return history.of("create").flatMap(({ prompts }) => {
    const count = prompts.filter((prompt) => made.has(prompt)).length;
    return count === 0 || count === prompts.length ? [] : [`${count} of the batch ${prompts.join(", ")} were made`];
  });
};

/** A lease has one holder, and every lease given out is in the timeline. */
export const leasesHaveOneHolder = ({ history, jobs }: Evidence): string[] => {
  const holders = new Map<string, string>();
  for (const { id, events } of jobs.values()) {
    for (const { type, lease, worker } of events) {
      if (type === "job.assigned") holders.set(leaseName({ jobId: id, lease }), worker ?? "nobody");
    }
  }
  return history.of("handed").flatMap((handed) => {
    const holder = holders.get(leaseName(handed));
    return holder === handed.worker
      ? []
      : [`lease ${leaseName(handed)} was handed to ${handed.worker}; it is ${holder ?? "nobody"}'s`];
  });
};

export const completedAnswersStand = ({ history, jobs }: Evidence): string[] =>
  history.of("report").flatMap(({ verb, jobId, lease, mark, outcome }) => {
    if (verb !== "complete" || outcome !== "ok") return [];
    const job = jobs.get(jobId)?.read;
    const keptMark = (job?.result as { mark?: string } | null)?.mark;
    const stands = job?.status === "completed" && job.lease === lease && keptMark === mark;
    return stands ? [] : [`job ${jobId} was completed with lease ${lease}, and is ${JSON.stringify(job)}`];
  });

/** An accepted report is in the timeline; one refused with `lease_lost` left no trace. No other refusal is expected. */
export const reportsDoWhatTheyWereAnswered = ({ history, jobs }: Evidence): string[] => {
  const byReport = Map.groupBy(history.of("report"), (report) => `${report.verb} ${leaseName(report)} ${report.mark}`);
  return [...byReport.values()].flatMap((attempts) => {
    const [report] = attempts;
    if (report === undefined) return [];
    const events = jobs.get(report.jobId)?.events ?? [];
    return attempts.flatMap((attempt, index) => faultOf(attempt, index > 0, events));
  });
};

const faultOf = (report: EntryOf<"report">, isRepeated: boolean, events: readonly JobEventResource[]): string[] => {
  const { verb, outcome, lease, mark } = report;
  const name = `the report "${verb}" of ${report.worker} on ${leaseName(report)}`;
  const types: readonly string[] = SETTLING[verb];
  const settled = events.filter((event) => event.lease === lease && types.includes(event.type));
  if (outcome === "ok")
    return verb === "heartbeat" || settled.length > 0 ? [] : [`${name} was accepted without a trace`];
  if (outcome === null) return [];
  if (outcome !== "lease_lost") return [`${name} was refused with ${outcome}`];
  // An earlier, unanswered start, failure or release may have been accepted, and another lease may have followed.
  const mayHaveBeenTaken = isRepeated && verb !== "complete";
  const hasTrace = mark !== "" && events.some(({ detail }) => JSON.stringify(detail).includes(mark));
  const isCompletion = verb === "complete" && settled.length > 0;
  return !mayHaveBeenTaken && (hasTrace || isCompletion) ? [`${name} lost its lease, and yet changed the job`] : [];
};

/** Two reads never see a lease go back, or a completed or cancelled job change. */
export const readsNeverGoBack = ({ history, jobs }: Evidence): string[] => {
  const latest = new Map<string, number>();
  return history.of("read").flatMap(({ reader, jobId, job }) => {
    const faults: string[] = [];
    const name = `${reader} ${jobId}`;
    const before = latest.get(name) ?? 0;
    latest.set(name, Math.max(before, job.lease));
    if (job.lease < before) faults.push(`${reader} saw job ${jobId} with lease ${before}, then ${job.lease}`);
    const end = jobs.get(jobId)?.read?.status;
    const isLasting = job.status === "completed" || job.status === "cancelled";
    if (isLasting && end !== job.status) faults.push(`${reader} saw job ${jobId} ${job.status}; it ended ${end}`);
    return faults;
  });
};

export const nothingIsAssignedWhileHalted = ({ history, jobs }: Evidence): string[] => {
  const halts = history.of("halt");
  return [...jobs.values()].flatMap(({ id, events }) =>
    events.flatMap(({ type, at }) => {
      if (type !== "job.assigned") return [];
      const when = Date.parse(at);
      const isHalted = halts.some(
        ({ answeredAt, clearedAt }) => when > answeredAt + CLOCK_MARGIN_MS && when < clearedAt - CLOCK_MARGIN_MS,
      );
      return isHalted ? [`job ${id} was assigned at ${at}, while the killswitch was on`] : [];
    }),
  );
};

/**
 * The cost of each settled attempt is counted once. A late report of a cancelled, halted or timed-out attempt is also
 * counted if it arrived, so the total may be that much higher, but not more.
 */
export const costCountsEachAttemptOnce = ({ history, jobs, spentNanoUsd }: Evidence): string[] => {
  const costs = new Map(
    history
      .of("report")
      .filter(({ costNanoUsd }) => costNanoUsd > 0)
      .map((report) => [leaseName(report), report.costNanoUsd]),
  );
  const types: readonly string[] = [...SETTLING.complete, ...SETTLING.fail];
  let due = 0;
  const late = new Map(costs);
  for (const { id, events } of jobs.values()) {
    for (const { type, lease, detail } of events) {
      const isReported = (detail as { code?: string } | null)?.code !== "attempts_exhausted";
      const name = leaseName({ jobId: id, lease });
      if (!types.includes(type) || !isReported) continue;
      due += costs.get(name) ?? 0;
      late.delete(name);
    }
  }
  const most = [...late.values()].reduce((sum, cost) => sum + cost, due);
  if (spentNanoUsd >= due && spentNanoUsd <= most) return [];
  return [`the attempts cost ${due} to ${most} nano-dollars, and ${spentNanoUsd} were counted`];
};

export const dueTimesMakeOneJob = ({ runs, jobs }: Evidence): string[] => {
  const times = Map.groupBy(runs, (run) => run.scheduled_for);
  const twice = [...times].flatMap(([at, same]) =>
    same.length > 1 ? [`the due time ${at} ran ${same.length} times`] : [],
  );
  const made = new Set(runs.flatMap((run) => run.job_id ?? []));
  const lost = [...made].flatMap((id) => (jobs.get(id)?.read ? [] : [`the scheduled job ${id} cannot be read`]));
  const extra = [...jobs.values()].flatMap(({ id, read }) =>
    read !== null && read.schedule !== null && !made.has(id) ? [`no run of the schedule made job ${id}`] : [],
  );
  return [...twice, ...lost, ...extra];
};

export const nothingBroke = ({ history }: Evidence): string[] =>
  history.of("broken").map(({ call, status, body }) => `${call} ended with ${status} ${body}`);
