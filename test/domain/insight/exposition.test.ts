// Metrics of many series and many tenants: bounded, and nothing that is counted gets lost.

import { describe, expect, test } from "vitest";
import {
  deploymentMetrics,
  exposition,
  folded,
  type Metric,
  type MetricSample,
} from "../../../domain/insight/exposition.ts";

const metric = (samples: readonly MetricSample[], more: Partial<Metric> = {}): Metric => ({
  name: "m",
  help: "Of the tests.",
  type: "counter",
  samples,
  ...more,
});

test("label values are escaped, and a family without samples is still described", () => {
  const text = exposition([metric([["", { model: 'a"b\\c\nd' }, 1]]), metric([], { name: "n", type: "gauge" })]);
  expect(text).toBe(
    '# HELP m Of the tests.\n# TYPE m counter\nm{model="a\\"b\\\\c\\nd"} 1\n# HELP n Of the tests.\n# TYPE n gauge\n',
  );
});

describe("series beyond the bound", () => {
  test("become one, and the sum stays", () => {
    const samples = [1, 5, 3].map((value, at): MetricSample => ["", { model: `m${at}` }, value]);
    expect(folded(metric(samples), 3).samples).toEqual(samples);
    expect(folded(metric(samples), 1).samples).toEqual([
      ["", { model: "other" }, 4],
      ["", { model: "m1" }, 5],
    ]);
  });

  test("keep how jobs ended, which is no name", () => {
    const samples: MetricSample[] = [
      ["", { model: "a", outcome: "failed" }, 1],
      ["", { model: "b", outcome: "completed" }, 2],
      ["", { model: "c", outcome: "failed" }, 3],
    ];
    expect(folded(metric(samples), 0).samples).toEqual([
      ["", { model: "other", outcome: "failed" }, 4],
      ["", { model: "other", outcome: "completed" }, 2],
    ]);
  });

  test("of a histogram are joined bucket by bucket", () => {
    const of = (model: string, low: number, all: number): MetricSample[] => [
      ["_bucket", { model, le: "1" }, low],
      ["_bucket", { model, le: "+Inf" }, all],
      ["_sum", { model }, all * 2],
      ["_count", { model }, all],
    ];
    const many = metric([...of("a", 1, 2), ...of("b", 3, 9), ...of("c", 0, 4)], { type: "histogram" });
    expect(folded(many, 1).samples).toEqual([...of("other", 1, 6), ...of("b", 3, 9)]);
  });

  test("of about the same size do not change places, so that what is counted as other never falls", () => {
    const other = (counts: Record<string, number>) => {
      const samples = Object.entries(counts).flatMap(([model, count]): MetricSample[] => [
        ["_sum", { model }, model === "slow" ? count * 90 : count],
        ["_count", { model }, count],
      ]);
      const { samples: few } = folded(metric(samples, { type: "histogram" }), 1);
      return few.find(([suffix, { model }]) => suffix === "_sum" && model === "other")?.[2] ?? 0;
    };
    const scrapes = [
      other({ slow: 100, quick: 101 }),
      other({ slow: 103, quick: 102 }),
      other({ slow: 104, quick: 105 }),
    ];
    expect(scrapes).toEqual([...scrapes].sort((one, next) => one - next));
  });

  test("are the highest of ages and the lowest of what is left", () => {
    const samples = [4, 9, 2].map((value, at): MetricSample => ["", { model: `m${at}` }, value]);
    expect(folded(metric(samples, { joins: "highest" }), 0).samples).toEqual([["", { model: "other" }, 9]]);
    expect(folded(metric(samples, { joins: "lowest" }), 0).samples).toEqual([["", { model: "other" }, 2]]);
  });
});

describe("a deployment", () => {
  const tenant = (name: string, jobs: number) => ({
    tenant: name,
    metrics: [
      metric([["", { status: "completed" }, jobs]], { name: "signalbox_jobs_total" }),
      metric([["", {}, jobs]], { name: "age", type: "gauge", joins: "highest" }),
    ],
  });
  const all = deploymentMetrics([tenant("idle", 1), tenant("busy", 50), tenant("quiet", 2)], 1);
  const of = (name: string) => all.find((one) => one.name === name)?.samples;

  test("names its busiest tenants and adds up the others", () => {
    expect(of("signalbox_jobs_total")).toEqual([
      ["", { tenant: "busy", status: "completed" }, 50],
      ["", { tenant: "other", status: "completed" }, 3],
    ]);
    expect(of("age")).toEqual([
      ["", { tenant: "busy" }, 50],
      ["", { tenant: "other" }, 2],
    ]);
  });

  test("names the same tenants while they are about as busy as each other", () => {
    const named = (tenants: Parameters<typeof deploymentMetrics>[0]) =>
      deploymentMetrics(tenants, 1)[0]?.samples.map(([, labels]) => labels.tenant);
    expect(named([tenant("a", 100), tenant("b", 101)])).toEqual(["a", "other"]);
    expect(named([tenant("b", 103), tenant("a", 102)])).toEqual(["a", "other"]);
    expect(named([tenant("b", 500), tenant("a", 102)])).toEqual(["b", "other"]);
  });

  test("has each family once", () => {
    expect(all.map(({ name }) => name)).toEqual(["signalbox_jobs_total", "age"]);
  });
});
