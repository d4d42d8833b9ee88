// What a monitor reads of a tenant. Label values come from closed sets: statuses, outcomes, existing providers
// and requirement groups, each list bounded.

import { WORKER_STATUSES } from "../../../domain/fleet/worker.ts";
import { isInState } from "../../../domain/fleet/worker-state.ts";
import {
  counter,
  exposition,
  folded,
  gauge,
  highest,
  histogram,
  lowest,
  type Metric,
} from "../../../domain/insight/exposition.ts";
import { MEASURES, type Measure } from "../../../domain/insight/latency.ts";
import { nanoFromUsd, usdFromNano } from "../../../domain/money/price.ts";
import { JOB_STATUSES } from "../../../domain/words/job-status.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { ok, type Result } from "../../../domain/words/result.ts";
import { storageShares } from "../../placing/storage-use.ts";
import { oldestJobOf } from "../../steps/group-jobs.ts";
import type { ProviderTally } from "../../store/settings.ts";
import { Histogram } from "../../turn/memory/counters.ts";
import type { Turn } from "../../turn/turn.ts";
import { viewOf } from "../fleet/workers.ts";

const MAX_MEASURED_GROUPS = 100;

export const readMetrics = (turn: Turn): Result<string, Refusal> => ok(exposition(metricsOf(turn)));

/** Of each family; a deployment has many tenants. */
const MAX_SERIES_OF_A_TENANT = 10;

/** For the metrics of the whole deployment. */
export const briefMetrics = (turn: Turn): Metric[] =>
  metricsOf(turn).map((metric) => folded(metric, MAX_SERIES_OF_A_TENANT));

const metricsOf = (turn: Turn): Metric[] => [
  ...queueMetrics(turn),
  ...doorMetrics(turn),
  ...fleetMetrics(turn),
  ...providerMetrics(turn),
  ...budgetMetrics(turn),
  ...tenantMetrics(turn),
];

const queueMetrics = (turn: Turn): Metric[] => {
  const { queue, counters } = turn.memory;
  const groups = [...queue.groups.values()].sort((one, other) => other.count - one.count).slice(0, MAX_MEASURED_GROUPS);
  const known = groups.map((group): Depth => {
    const { provider, model, tags, excludedProviders } = group.requirements;
    const oldest = oldestJobOf(turn, group);
    return {
      labels: {
        provider: provider ?? "",
        model: model ?? "",
        tags: tags.join(","),
        excluded_providers: excludedProviders.join(","),
      },
      waiting: group.count,
      oldest: oldest === null ? 0 : (turn.nowAt - oldest.createdAt) / 1000,
    };
  });
  const asked = summed(known);
  const models = summed(known.map((one) => ({ ...one, labels: modelOf(one) })));
  return [
    gauge(
      "signalbox_queue_waiting",
      "Jobs that wait and may run now, by what they ask for.",
      models.map(({ labels, waiting }) => [labels, waiting] as const),
    ),
    highest(
      "signalbox_queue_oldest_seconds",
      "Age of the oldest job that waits, by what it asks for.",
      models.map(({ labels, oldest }) => [labels, oldest] as const),
    ),
    gauge(
      "signalbox_queue_depth",
      "Jobs that wait and may run now, by requirement group.",
      asked.map(({ labels, waiting }) => [labels, waiting] as const),
    ),
    highest(
      "signalbox_queue_oldest_age_seconds",
      "Age of the oldest job of each requirement group.",
      asked.map(({ labels, oldest }) => [labels, oldest] as const),
    ),
    gauge("signalbox_queue_jobs", "Jobs that wait and may run now.", [[{}, queue.count]]),
    counter(
      "signalbox_jobs_total",
      "Jobs that reached a status.",
      JOB_STATUSES.map((status) => [{ status }, counters.jobsByStatus[status]] as const),
    ),
    histogram(
      "signalbox_assignment_latency_seconds",
      "Time from enqueueing to assignment.",
      counters.assignmentLatency.samples(),
    ),
  ];
};

interface Depth {
  readonly labels: Readonly<Record<string, string>>;
  readonly waiting: number;
  readonly oldest: number;
}

const modelOf = ({ labels: { provider = "", model = "" } }: Depth) => ({ provider, model });

/** Groups differ in more than labels tell, and a monitor refuses a series that stands twice. */
const summed = (groups: readonly Depth[]): Depth[] => {
  const sums = new Map<string, Depth>();
  for (const { labels, waiting, oldest } of groups) {
    const key = JSON.stringify(labels);
    const before = sums.get(key) ?? { waiting: 0, oldest: 0 };
    sums.set(key, { labels, waiting: before.waiting + waiting, oldest: Math.max(before.oldest, oldest) });
  }
  return [...sums.values()];
};

const doorMetrics = (turn: Turn): Metric[] => {
  const { counters } = turn.memory;
  return [
    histogram(
      "signalbox_stream_duration_seconds",
      "Time from the first output of a stream to its end.",
      counters.streamDuration.samples(),
    ),
    gauge("signalbox_streams_open", "Streams in progress.", [[{}, turn.memory.openStreams]]),
    counter("signalbox_streams_abandoned_total", "Streamed answers whose client left or read too slowly.", [
      [{}, counters.streamsAbandoned],
    ]),
    counter(
      "signalbox_affinity_total",
      "Requests of a conversation, by whether they went to the worker of the previous turn.",
      (["hit", "miss"] as const).map((outcome) => [{ outcome }, counters.affinity[outcome]] as const),
    ),
  ];
};

const fleetMetrics = (turn: Turn): Metric[] => {
  const byStatus = new Map<string, number>();
  let paused = 0;
  let load = 0;
  for (const member of turn.memory.fleet.members()) {
    const view = viewOf(turn, member);
    byStatus.set(view.status, (byStatus.get(view.status) ?? 0) + 1);
    if (isInState(view, "paused")) paused += 1;
    load += view.load;
  }
  return [
    gauge(
      "signalbox_workers",
      "Registered workers by derived status.",
      WORKER_STATUSES.map((status) => [{ status }, byStatus.get(status) ?? 0] as const),
    ),
    gauge("signalbox_workers_paused", "Workers that are there and get no new jobs because they are paused.", [
      [{}, paused],
    ]),
    gauge("signalbox_leases", "Jobs assigned or running.", [[{}, load]]),
  ];
};

const providerMetrics = (turn: Turn): Metric[] => {
  const tallies = turn.memory.counters.tallies.all;
  const labelled = tallies.map((tally) => ({ tally, labels: { provider: tally.provider, model: tally.model } }));
  return [
    counter(
      "signalbox_attempts_total",
      "Attempts that completed or failed, by provider, model and outcome.",
      labelled.flatMap(({ tally, labels }) =>
        (["completed", "failed"] as const).map((outcome) => [{ ...labels, outcome }, tally[outcome]] as const),
      ),
    ),
    counter(
      "signalbox_attempt_errors_total",
      "Failed attempts by provider, model and error code.",
      labelled.flatMap(({ tally, labels }) =>
        Object.entries(tally.errors).map(([code, count]) => [{ ...labels, code }, count] as const),
      ),
    ),
    counter(
      "signalbox_tokens_total",
      "Tokens of attempts, by provider, model and kind.",
      labelled.flatMap(({ tally, labels }) => [
        [{ ...labels, kind: "input" }, tally.inputTokens] as const,
        [{ ...labels, kind: "output" }, tally.outputTokens] as const,
      ]),
    ),
    counter(
      "signalbox_cost_usd_total",
      "Cost of attempts by provider and model; attempts of unknown cost are not included.",
      labelled.map(({ tally, labels }) => [labels, usdFromNano(tally.nanoUsd)] as const),
    ),
    ...MEASURES.map((measure): Metric => measuredMetric(measure, labelled)),
    histogram(
      "signalbox_attempt_duration_seconds",
      "Time from an attempt's start to its end, by provider and model.",
      labelled.flatMap(({ tally, labels }) => labelledSamples(new Histogram(tally.durations), labels)),
    ),
  ];
};

const MEASURED: Readonly<Record<Measure, { readonly name: string; readonly help: string }>> = {
  queueWaitMs: { name: "signalbox_queue_wait_seconds", help: "Time from when a job could run to its assignment." },
  firstTokenMs: {
    name: "signalbox_time_to_first_token_seconds",
    help: "Time from the start of an attempt to its first output.",
  },
  runMs: { name: "signalbox_run_duration_seconds", help: "Time from the start of an attempt to its end." },
  tokensPerSecond: { name: "signalbox_output_tokens_per_second", help: "Output tokens over run time." },
};

interface Labelled {
  readonly tally: ProviderTally;
  readonly labels: { readonly provider: string; readonly model: string };
}

/** Of completed attempts, by provider and model. */
const measuredMetric = (measure: Measure, labelled: readonly Labelled[]): Metric => {
  const { name, help } = MEASURED[measure];
  const samples = labelled.flatMap(({ tally: { measured }, labels }) =>
    measured?.[measure] === undefined ? [] : labelledSamples(Histogram.of(measure, measured[measure]), labels),
  );
  return histogram(name, help, samples);
};

const labelledSamples = (counted: Histogram, labels: Labelled["labels"]): Metric["samples"] =>
  counted.samples().map(([suffix, le, value]) => [suffix, { ...labels, ...le }, value] as const);

const budgetMetrics = (turn: Turn): Metric[] => {
  const { budget, providers } = turn.memory.config;
  const { spending } = turn.memory;
  const owners = [
    { provider: null, limits: budget },
    ...[...providers].map(([provider, { budget: limits }]) => ({ provider, limits })),
  ];
  const limited = owners.flatMap(({ provider, limits }) =>
    (["day", "month"] as const).flatMap((period) => {
      const limit = period === "day" ? limits?.dayUsd : limits?.monthUsd;
      if (limit == null) return [];
      const spentNanoUsd = spending.of(period, turn.nowAt, provider);
      const left = Math.max(0, usdFromNano((nanoFromUsd(limit) ?? 0) - spentNanoUsd));
      return [{ labels: { provider: provider ?? "", period }, limit, left }];
    }),
  );
  return [
    lowest(
      "signalbox_budget_left_usd",
      "Remaining amount of each configured budget; without a provider, of the tenant's.",
      limited.map(({ labels, left }) => [labels, left] as const),
    ),
    lowest(
      "signalbox_budget_left_ratio",
      "The share of each configured budget that remains, from 0 to 1.",
      limited.map(({ labels, left, limit }) => [labels, limit === 0 ? 0 : left / limit] as const),
    ),
  ];
};

const tenantMetrics = (turn: Turn): Metric[] => {
  const oldestAt = turn.store.outbox.oldestAt();
  return [
    gauge("signalbox_outbox_rows", "Changes that are not in history yet.", [[{}, turn.store.outbox.count()]]),
    highest("signalbox_outbox_oldest_age_seconds", "Age of the oldest change that is not in history yet.", [
      [{}, oldestAt === null ? 0 : (turn.nowAt - oldestAt) / 1000],
    ]),
    highest(
      "signalbox_storage_used_ratio",
      "Of each bound of storage, the share that is used, from 0 to 1.",
      storageShares(turn).map(({ place, share }) => [{ place }, share] as const),
    ),
    highest("signalbox_archive_failing", "Whether the archive takes no jobs, so that old ones stay in history.", [
      [{}, turn.memory.storage.isArchiveFailing ? 1 : 0],
    ]),
    counter(
      "signalbox_rows_written_total",
      "Rows and index entries written, which Cloudflare charges for, since the tenant's object woke.",
      Object.entries(turn.store.written).map(([place, count]) => [{ place }, count] as const),
    ),
    counter(
      "signalbox_sweep_failures_total",
      "Failed periodic tasks, since the tenant's object woke.",
      [...turn.memory.counters.sweepFailures].map(([row, count]) => [{ row }, count] as const),
    ),
    highest("signalbox_killswitch_level", "Killswitch level: 0 is off, 4 is a full halt.", [
      [{}, turn.memory.killswitch.level],
    ]),
  ];
};
