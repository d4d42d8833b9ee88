// Whether the service is well: a row per question, each with what it reads and what it makes of it. A question whose
// answer cannot be read says why, and does not stop the others.

import { ApiProblem } from "../contract/client/problem.ts";
import type { CallOptions } from "../contract/client/transport.ts";
import { duration } from "../contract/text/time-words.ts";
import { usdText } from "../contract/words/values.ts";
import type { Signalbox } from "../sdk/signalbox.ts";
import type { Finding } from "./verdict.ts";

interface Answered extends Finding {
  readonly figures: Readonly<Record<string, number | string | boolean | null>>;
}

type Client = Pick<Signalbox, "service" | "killswitch" | "workers" | "jobs" | "cost">;

interface Question<Facts> {
  readonly what: string;
  readonly read: (client: Client, options: CallOptions) => Promise<Facts>;
  readonly judge: (facts: Facts, nowAt: number) => Omit<Answered, "what">;
}

const LONG_WAIT_MS = 300_000;
/** Fewer failures than this prove nothing about the rate. */
const FEW_FAILURES = 5;
const LOOK_AT_ERROR_RATE = 0.05;
const BAD_ERROR_RATE = 0.5;
const LOOK_AT_BUDGET = 0.8;
const BUDGET_SPAN = { day: "today", month: "this month" } as const;

/** A share above zero is never shown as zero. */
const percent = (share: number): string =>
  share > 0 && share < 0.001 ? "under 0.1 %" : `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
const jobs = (count: number): string => `${count} ${count === 1 ? "job" : "jobs"}`;

/** As the service says it of a full disk; a disk that only fills refuses nothing. */
const REFUSING = /\bare refused\b/;

const service: Question<Awaited<ReturnType<Client["service"]["health"]>>> = {
  what: "service",
  read: ({ service: { health } }, options) => health(options),
  judge: ({ version, warnings = [] }) => ({
    verdict: warnings.some((one) => REFUSING.test(one)) ? "bad" : warnings.length === 0 ? "good" : "warning",
    says: [`version ${version}`, ...warnings].join("; "),
    figures: { version, warnings: warnings.length },
  }),
};

const killswitch: Question<Awaited<ReturnType<Client["killswitch"]["get"]>>> = {
  what: "killswitch",
  read: (client, options) => client.killswitch.get(options),
  judge: ({ active, level, reason, activated_by: by }) => ({
    verdict: active ? "bad" : "good",
    says: active
      ? `level ${level}${by === null ? "" : ` by ${by}`}${reason === null ? "" : `: ${reason}`}; \`signalbox killswitch off --resume-all\` clears it`
      : "off",
    figures: { level, active },
  }),
};

const workers: Question<Awaited<ReturnType<Client["workers"]["list"]>>> = {
  what: "workers",
  read: ({ workers: { list } }, options) => list({ limit: 1, summary: "true" }, options),
  judge: ({ total, summary }) => {
    const { states, providers = [] } = summary ?? {};
    const { offline = 0, paused = 0, unavailable = 0, failing = 0 } = states ?? {};
    const present = total - offline;
    const places = providers.reduce((sum, one) => sum + one.places, 0);
    const load = providers.reduce((sum, one) => sum + one.load, 0);
    const figures = { total, present, offline, paused, unavailable, failing, places, load };
    if (present === 0)
      return { verdict: "bad", says: `none of ${total} is online: start one with \`signalbox worker\``, figures };
    const besides = Object.entries({ paused, unavailable, failing, offline })
      .filter(([, count]) => count > 0)
      .map(([state, count]) => `${count} ${state}`);
    return {
      verdict: paused === present ? "bad" : unavailable + failing > 0 ? "warning" : "good",
      says: [`${present} online, ${load} of ${places} places in use`, ...besides].join(", "),
      figures,
    };
  },
};

const queue: Question<Awaited<ReturnType<Client["jobs"]["queue"]>>> = {
  what: "queue",
  read: (client, options) => client.jobs.queue(options),
  judge: ({ groups, total, delayed }, nowAt) => {
    const later = delayed === 0 ? "" : `; ${delayed} may not run yet`;
    // Groups come oldest first.
    const [oldest] = groups;
    const oldestMs = oldest === undefined ? 0 : Math.max(0, nowAt - Date.parse(oldest.oldest_at));
    return {
      verdict: oldestMs > LONG_WAIT_MS ? "warning" : "good",
      says:
        oldest === undefined
          ? `nothing waits${later}`
          : `${jobs(total)} waiting, the oldest for ${duration(oldestMs)}: ${oldest.reason}${later}`,
      figures: { waiting: total, delayed, oldest_seconds: Math.round(oldestMs / 1000) },
    };
  },
};

const waits: Question<Awaited<ReturnType<Client["jobs"]["latency"]>>> = {
  what: "waits",
  read: (client, options) => client.jobs.latency({ period: "1h" }, options),
  judge: ({ total }) => {
    const { jobs: completed, queue_wait_ms: wait, run_ms: run } = total;
    const figures = { completed, queue_wait_p95_ms: wait.p95, run_p95_ms: run.p95 };
    if (wait.p95 === null) return { verdict: "good", says: "no job completed in the last hour", figures };
    const ran = run.p95 === null ? "" : `, run ${duration(run.p95)}`;
    return {
      verdict: wait.p95 > LONG_WAIT_MS ? "warning" : "good",
      says: `p95 of the last hour: wait ${duration(wait.p95)}${ran}`,
      figures,
    };
  },
};

interface Ends {
  readonly completed: number;
  readonly failures: Awaited<ReturnType<Client["jobs"]["failures"]>>["failures"];
}

const errors: Question<Ends> = {
  what: "errors",
  read: async (client, options) => {
    const [{ total }, { failures }] = await Promise.all([
      client.jobs.latency({ period: "1h" }, options),
      client.jobs.failures({}, options),
    ]);
    return { completed: total.jobs, failures };
  },
  judge: ({ completed, failures }) => {
    const failed = failures.reduce((sum, { count }) => sum + count, 0);
    const rate = failed === 0 ? 0 : failed / (failed + completed);
    const figures = { completed, failed, error_rate: Number(rate.toFixed(4)) };
    const [most] = failures.toSorted((one, other) => other.count - one.count);
    if (most === undefined) return { verdict: "good", says: "no job failed in the last hour", figures };
    const isTelling = failed >= FEW_FAILURES;
    return {
      verdict:
        isTelling && rate >= BAD_ERROR_RATE ? "bad" : isTelling && rate >= LOOK_AT_ERROR_RATE ? "warning" : "good",
      says: `${jobs(failed)} failed in the last hour (${percent(rate)}), most as ${most.code}: \`signalbox failures\``,
      figures,
    };
  },
};

const cost: Question<Awaited<ReturnType<Client["cost"]["summary"]>>> = {
  what: "cost",
  read: (client, options) => client.cost.summary({ period: "day" }, options),
  judge: ({ total_usd, budget, provider_budgets: providers }) => {
    const shares = (["day", "month"] as const).flatMap((period) => {
      const limit = budget[`${period}_usd`];
      return limit === null ? [] : [{ period, limit, spent: budget[`${period}_spent_usd`] }];
    });
    const closed = providers.filter(({ reached }) => reached).map(({ provider }) => provider);
    const isNear = shares.some(({ limit, spent }) => spent >= limit * LOOK_AT_BUDGET);
    const spent = shares.map(
      ({ period, limit, spent }) => `${usdText(spent)} of ${usdText(limit)} ${BUDGET_SPAN[period]}`,
    );
    const words = [
      ...(shares.length === 0 ? [`${usdText(total_usd)} today, no budget`] : spent),
      ...(budget.reached ? ["the budget is reached"] : []),
      ...(budget.reached_at_pace === null ? [] : [`at this pace reached at ${budget.reached_at_pace}`]),
      ...closed.map((provider) => `the budget of ${provider} is reached`),
    ];
    return {
      verdict: budget.reached
        ? "bad"
        : isNear || closed.length > 0 || budget.reached_at_pace !== null
          ? "warning"
          : "good",
      says: words.join(", "),
      figures: { today_usd: total_usd, day_usd: budget.day_usd, month_usd: budget.month_usd, reached: budget.reached },
    };
  },
};

/** A person who asks at night must not wait for the history store, whose calls last ten seconds where it hangs. */
const ANSWERS_WITHIN_MS = 4_000;

const NOBODY: ReadonlySet<string> = new Set(["authentication_failed", "unreachable", "unexpected_answer"]);

const asked = async <Facts>(
  { what, read, judge }: Question<Facts>,
  client: Client,
  options: CallOptions,
): Promise<Answered> => {
  const late = AbortSignal.timeout(ANSWERS_WITHIN_MS);
  try {
    const facts = await read(client, { signal: AbortSignal.any([late, ...(options.signal ? [options.signal] : [])]) });
    return { what, ...judge(facts, Date.now()) };
  } catch (error) {
    if (late.aborted && !options.signal?.aborted)
      return { what, verdict: "bad", says: `no answer within ${ANSWERS_WITHIN_MS / 1000} s`, figures: {} };
    if (!(error instanceof ApiProblem) || NOBODY.has(error.code)) throw error;
    return { what, verdict: "bad", says: `cannot be read: ${error.message}`, figures: {} };
  }
};

export const statusOf = (client: Client, options: CallOptions): Promise<Answered[]> =>
  Promise.all([
    asked(service, client, options),
    asked(killswitch, client, options),
    asked(workers, client, options),
    asked(queue, client, options),
    asked(waits, client, options),
    asked(errors, client, options),
    asked(cost, client, options),
  ]);
