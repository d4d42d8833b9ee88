// Metrics and their text (Prometheus exposition format 0.0.4). Series are joined where there are more than may be shown:
// counts are added up, an age or a level is the highest of those that it stands for, and what is left the lowest.

import { OTHER } from "./latency.ts";

type Labels = Readonly<Record<string, string>>;

/** `suffix` of a histogram: `_bucket`, `_sum`, `_count`. */
export type MetricSample = readonly [suffix: string, labels: Labels, value: number];

export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: "gauge" | "counter" | "histogram";
  readonly samples: readonly MetricSample[];
  /** What several series are as one; by default their sum. */
  readonly joins?: "highest" | "lowest";
}

type Joins = Metric["joins"];

const metricOf =
  (type: "gauge" | "counter", joins?: Joins) =>
  (name: string, help: string, samples: readonly (readonly [labels: Labels, value: number])[]): Metric => ({
    name,
    help,
    type,
    samples: samples.map(([labels, value]) => ["", labels, value]),
    ...(joins === undefined ? {} : { joins }),
  });

export const counter = metricOf("counter");
export const gauge = metricOf("gauge");
/** Of several tenants or groups that one counts, not the sum. */
export const highest = metricOf("gauge", "highest");
export const lowest = metricOf("gauge", "lowest");

export const histogram = (name: string, help: string, samples: Metric["samples"]): Metric => ({
  name,
  help,
  type: "histogram",
  samples,
});

const escaped = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

const textOf = ({ name, help, type, samples }: Metric): string =>
  [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([suffix, labels, value]) => {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
      return `${name}${suffix}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
    }),
  ].join("\n");

export const exposition = (metrics: readonly Metric[]): string => `${metrics.map(textOf).join("\n")}\n`;

const joined = (joins: Joins, one: number, other: number): number => {
  if (joins === "highest") return Math.max(one, other);
  return joins === "lowest" ? Math.min(one, other) : one + other;
};

/** A histogram's buckets differ in `le` alone: they are one series. */
const seriesOf = ({ le: _bucket, ...labels }: Labels): string => JSON.stringify(Object.entries(labels));

/** The samples under new labels; what then has the same labels is one sample. */
const relabelled = (
  { joins }: Pick<Metric, "joins">,
  samples: Iterable<MetricSample>,
  labelsOf: (labels: Labels) => Labels,
): MetricSample[] => {
  const byLabels = new Map<string, MetricSample>();
  for (const [suffix, before, value] of samples) {
    const labels = labelsOf(before);
    const key = JSON.stringify([suffix, Object.entries(labels)]);
    const met = byLabels.get(key);
    byLabels.set(key, [suffix, labels, met === undefined ? value : joined(joins, met[2], value)]);
  }
  return [...byLabels.values()];
};

/** The same for all, so that a label with few values keeps them: of an outcome, no sum is of use. */
const asOther = (labels: Labels, kept: ReadonlySet<string>): Labels =>
  Object.fromEntries(Object.entries(labels).map(([label, text]) => [label, kept.has(label) ? text : OTHER]));

/** What says how a job ended is no name of anything: it never becomes `other`. */
const KEPT_LABELS: ReadonlySet<string> = new Set(["le", "outcome", "kind", "status", "period"]);

const weightsOf = ({ samples }: Metric): Map<string, number> => {
  const weights = new Map<string, number>();
  for (const [suffix, labels, value] of samples)
    if (suffix === "" || suffix === "_count") weights.set(seriesOf(labels), value);
  return weights;
};

/**
 * To powers of two. What leaves `other` takes its counts with it, which a monitor reads as a restart: those of about the
 * same size must not change places.
 */
const sizeOf = (count: number): number => Math.floor(Math.log2(count + 2 ** -30));

/** At most so many series as they are, the largest; the others as one whose names are `other`. */
export const folded = (metric: Metric, maxSeries: number): Metric => {
  const weights = [...weightsOf(metric)];
  if (weights.length <= maxSeries) return metric;
  const rankOf = metric.type === "gauge" ? Number : sizeOf;
  weights.sort(([, one], [, other]) => rankOf(other) - rankOf(one));
  const largest = new Set(weights.slice(0, maxSeries).map(([series]) => series));
  const samples = relabelled(metric, metric.samples, (labels) =>
    largest.has(seriesOf(labels)) ? labels : asOther(labels, KEPT_LABELS),
  );
  return { ...metric, samples };
};

export interface TenantMetrics {
  readonly tenant: string;
  readonly metrics: readonly Metric[];
}

const BUSY = "signalbox_jobs_total";

const busynessOf = ({ metrics }: TenantMetrics): number =>
  sizeOf(metrics.find(({ name }) => name === BUSY)?.samples.reduce((sum, [, , value]) => sum + value, 0) ?? 0);

/** All tenants as one: the busiest by name, the others together as the tenant `other`. */
export const deploymentMetrics = (tenants: readonly TenantMetrics[], maxNamed: number): Metric[] => {
  const busiestFirst = [...tenants].sort(
    (one, other) => busynessOf(other) - busynessOf(one) || (one.tenant < other.tenant ? -1 : 1),
  );
  const families = new Map<string, { metric: Metric; samples: MetricSample[] }>();
  for (const [rank, { tenant, metrics }] of busiestFirst.entries()) {
    const name = rank < maxNamed ? tenant : OTHER;
    for (const metric of metrics) {
      const family = families.get(metric.name) ?? { metric, samples: [] };
      families.set(metric.name, family);
      for (const [suffix, labels, value] of metric.samples)
        family.samples.push([suffix, { tenant: name, ...labels }, value]);
    }
  }
  return [...families.values()].map(({ metric, samples }) => ({
    ...metric,
    samples: relabelled(metric, samples, (labels) => labels),
  }));
};
