// Adds up what the usual attempts of a load cost, so that history changes a few sums and looks at none of them. Usual is
// the first lease of a job, reported in time: whether its job counts depends on nothing that history has or gets. All
// others history adds up itself (`attempt-sums.ts`).

import { type Job, labelsOf } from "../../domain/job/job.ts";
import { HOUR_MS } from "../../domain/words/duration.ts";
import type { Attempt, OutboxRow } from "../store/outbox.ts";
import type { Cells } from "./statements.ts";

/** Sums that one outbox row may change; the attempts of one that would change more are added up by history. */
const MAX_SUMS = 1_000;

/** As `NAMES` of `cost-sums.ts` has them: a job, unpriced or not, its cost and its tokens. */
type Added = number[];
/** What was added, and for what, by its key. */
type Sums<Of> = Map<string, readonly [of: Of, added: Added]>;

/** The rows of `USUAL_SUMS`, and whose attempts they are. */
interface AddedUp {
  readonly hourSums: readonly Cells[];
  readonly groupSums: readonly Cells[];
  readonly usual: readonly Attempt[];
  readonly others: readonly Attempt[];
}

/** The attempts of these rows; `jobs` has the records of their jobs. */
export const addUp = (outbox: readonly OutboxRow[], jobs: ReadonlyMap<string, Job>): AddedUp => {
  const parts = outbox.map(({ entries }) => addUpRow(entries.attempts, jobs));
  return {
    hourSums: parts.flatMap(({ hourSums }) => hourSums),
    groupSums: parts.flatMap(({ groupSums }) => groupSums),
    usual: parts.flatMap(({ usual }) => usual),
    others: parts.flatMap(({ others }) => others),
  };
};

const isUsual = ({ lease, outcome }: Attempt): boolean => lease === 1 && outcome !== "late";

const addUpRow = (attempts: readonly Attempt[], jobs: ReadonlyMap<string, Job>): AddedUp => {
  const [usual, others]: [Attempt[], Attempt[]] = [[], []];
  const alike: Sums<{ readonly attempt: Attempt; readonly job: Job }> = new Map();
  for (const attempt of attempts) {
    const job = isUsual(attempt) ? jobs.get(attempt.jobId) : undefined;
    (job === undefined ? others : usual).push(attempt);
    if (job !== undefined) add(alike, likeness(attempt, job), { attempt, job }, addedBy(attempt));
  }
  const hours: Sums<Cells> = new Map();
  const groups: Sums<Cells> = new Map();
  for (const [{ attempt, job }, added] of alike.values()) {
    const hourAt = hourOf(attempt);
    addTo(hours, [hourAt, attempt.provider, attempt.model ?? ""], added);
    for (const [name, value] of groupsOf(attempt, job)) addTo(groups, [name, hourAt, value], added);
  }
  const [first] = usual;
  if (first === undefined || groups.size > MAX_SUMS)
    return { hourSums: [], groupSums: [], usual: [], others: attempts };
  return { hourSums: rowsOf(first, hours), groupSums: rowsOf(first, groups), usual, others };
};

const hourOf = ({ at }: Attempt): number => at - (at % HOUR_MS);

/** All that attempts are grouped by. Most of a row have it in common, so that the groups are looked at once. */
const likeness = (attempt: Attempt, { keyId, schedule, tags, metadata }: Job): string => {
  const { provider, model, worker } = attempt;
  return JSON.stringify([hourOf(attempt), provider, model, worker, keyId, schedule, tags, metadata]);
};

/** The same groups as in `addedToSums`. */
const groupsOf = ({ worker }: Attempt, job: Job): (readonly [name: string, value: string])[] => {
  const labels = labelsOf(job).filter(([name]) => name === "tag" || name.startsWith("metadata."));
  if (job.tags.length === 0) labels.push(["tag", ""]);
  return [["worker", worker], ["key", job.keyId ?? ""], ["schedule", job.schedule ?? ""], ...labels];
};

const addedBy = (one: Attempt): Added => [
  1,
  one.nanoUsd === null ? 1 : 0,
  one.nanoUsd ?? 0,
  one.inputTokens,
  one.outputTokens,
  one.cachedInputTokens,
  one.reasoningTokens,
];

const add = <Of>(sums: Sums<Of>, key: string, of: Of, added: Added): void => {
  const sum = sums.get(key);
  if (sum === undefined) sums.set(key, [of, [...added]]);
  else for (const [index, one] of added.entries()) sum[1][index] = (sum[1][index] ?? 0) + one;
};

const addTo = (sums: Sums<Cells>, found: Cells, added: Added): void => add(sums, JSON.stringify(found), found, added);

/** The sums, with the attempt that says whether history has them. */
const rowsOf = ({ jobId, lease }: Attempt, sums: Sums<Cells>): Cells[] =>
  [...sums.values()].map(([found, added]) => [jobId, lease, ...found, ...added]);
