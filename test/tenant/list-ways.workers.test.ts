// Each way in which a list by end or cost is read shows the same page, however many jobs match.

import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { JOB_SORTS, type JobListQuery, jobListQuery } from "../../contract/jobs/job-list.ts";
import { inserts } from "../../durable-objects/history/statements.ts";
import { writeCursor } from "../../src/history/job-cursor.ts";
import { inOrder, inOrderOfIndex, inOrderOfUnpriced } from "../../src/history/lists/in-order.ts";
import { pageStatement } from "../../src/history/lists/page-statement.ts";
import { type AskedJobs, leadOf, type Selected, selectionOf } from "../../src/history/lists/selection.ts";
import { soonFound } from "../../src/history/lists/soon-found.ts";
import { TenantHistory } from "../../src/history/tenant-history.ts";

const { DB } = env as unknown as { DB: D1Database };
const TENANT = "ways";
const HISTORY = new TenantHistory(DB, TENANT);
const JOBS = 60;
const CREATED_AT = Date.parse("2026-01-01T00:00:00Z");
const SECOND_MS = 1_000;

interface Made {
  readonly id: string;
  readonly createdAt: number;
  readonly finishedAt: number | null;
  readonly cost: number | null;
  readonly tags: readonly string[];
  readonly isFailed: boolean;
  readonly isUnpriced: boolean;
  readonly prompt: string;
}

const createdAt = (index: number): number => CREATED_AT + index * SECOND_MS;

/** Neither their ends nor their costs are in the order of their creation; some have none, some have the same. */
const made: readonly Made[] = Array.from({ length: JOBS }, (_, index) => ({
  id: `01${index < JOBS / 2 ? "00" : "90"}${String(index).padStart(4, "0")}-0000-7000-8000-000000000000`,
  createdAt: createdAt(index),
  finishedAt: index % 11 === 5 ? null : createdAt(index) + ((index * 37) % 23) * SECOND_MS,
  cost: index % 3 === 0 ? null : ((index * 7) % 5) * 1_000_000,
  tags: [index % 2 === 0 ? "even" : "odd", ...(index < 20 ? ['old "quoted" \\ é'] : [])],
  isFailed: index % 4 === 1,
  isUnpriced: index % 5 === 2,
  prompt: index % 7 === 0 ? "a zebra 0190" : "a horse",
}));

const jobRow = (one: Made): (string | number | null)[] => [
  ...[one.id, 1, one.isFailed ? "failed" : "completed", "w", null, "k", "vllm", "m", null, null, one.cost],
  ...[one.createdAt, one.finishedAt, one.prompt, "null", "null"],
  ...[JSON.stringify(one.tags.map((tag) => ["tag", tag])), "{}", "[]"],
];
const attemptRow = ({ id, createdAt: at }: Made, lease: number): (string | number | null)[] => [
  ...[id, lease, at + lease, "vllm", "m", "w", "completed", 1, 1, 0, 0, null, "unpriced", null],
];

const FILTERS: readonly (readonly [filter: Record<string, string>, matches: (job: Made) => boolean])[] = [
  [{}, () => true],
  [{ tag: "even" }, ({ tags }) => tags.includes("even")],
  [{ tag: 'old "quoted" \\ é' }, ({ tags }) => tags.length === 2],
  [{ status: "failed", tag: "odd" }, ({ isFailed, tags }) => isFailed && tags.includes("odd")],
  [{ q: "zebra" }, ({ prompt }) => prompt.includes("zebra")],
  [{ q: "01" }, () => true],
  [{ q: "0190" }, ({ id, prompt }) => id.startsWith("0190") || prompt.includes("0190")],
  [
    { q: "0190", tag: "even" },
    ({ id, prompt, tags }) => tags.includes("even") && (id.startsWith("0190") || prompt.includes("0190")),
  ],
  [{ q: "01", unpriced: "false" }, ({ isUnpriced }) => !isUnpriced],
  [
    { tag: "even", since: new Date(createdAt(13)).toISOString() },
    (job) => job.tags.includes("even") && job.createdAt >= createdAt(13),
  ],
  [{ q: "0", until: new Date(createdAt(40)).toISOString() }, (job) => job.createdAt < createdAt(40)],
  [{ unpriced: "true" }, ({ isUnpriced }) => isUnpriced],
  [{ unpriced: "true", tag: "odd" }, ({ isUnpriced, tags }) => isUnpriced && tags.includes("odd")],
];

const SORTS = JOB_SORTS.filter((name) => name !== "created_at").flatMap((name) => [name, `-${name}` as const]);

const sortedBy = (sort: string, { finishedAt, cost }: Made): number | null =>
  sort.endsWith("cost_usd") ? cost : finishedAt;

/** Those without a value come last. */
const inListOrder = (sort: string): Made[] => {
  const sign = sort.startsWith("-") ? 1 : -1;
  return [...made].sort((one, other) => {
    const [value, its] = [sortedBy(sort, one), sortedBy(sort, other)];
    if (value === its) return sign * (one.createdAt - other.createdAt);
    if (value === null || its === null) return value === null ? 1 : -1;
    return sign * (value - its);
  });
};

/** What may apply to a list with such a lead. */
const sourcesOf = async (asked: AskedJobs, query: JobListQuery): Promise<Record<string, Selected | null>> => {
  const nearest = { limit: JOBS, isOldest: query.sort === "-finished_at" };
  return {
    sorted: selectionOf(TENANT, query, asked.lead, { limit: JOBS, isOldest: false }),
    ...(query.q === undefined ? { inOrder: inOrder(asked) } : {}),
    soon: await soonFound({ ...asked, history: HISTORY, query }),
    ...(asked.lead.by === "index" ? { compared: inOrderOfIndex(asked, nearest) } : {}),
    ...(asked.lead.by === "unpriced" ? { unpriced: inOrderOfUnpriced(asked, nearest) } : {}),
  };
};

describe("each way to read a list by end or cost", () => {
  beforeAll(async () => {
    const attempts = made
      .filter(({ isUnpriced }) => isUnpriced)
      .flatMap((one) => [1, 2].map((lease) => attemptRow(one, lease)));
    const statements = [
      ...inserts("tenants", [[0, null, null]]),
      ...inserts("jobs", made.map(jobRow)),
      ...inserts("otherAttempts", attempts),
    ];
    for (const { sql, values } of statements)
      await DB.prepare(sql)
        .bind(TENANT, ...values)
        .run();
  });

  it.each(FILTERS)("shows the same jobs in the same order: %o", async (filter, matches) => {
    for (const sort of SORTS)
      for (const after of [0, 4]) {
        const expected = inListOrder(sort)
          .filter(matches)
          .map(({ id }) => id);
        const last = made.find(({ id }) => id === expected[after - 1]);
        const cursor =
          last === undefined ? {} : { cursor: writeCursor(sort, { value: sortedBy(sort, last), id: last.id }) };
        const query = jobListQuery.parse({ ...filter, sort, limit: "3", ...cursor });
        const lead = await leadOf(HISTORY, query);
        const sources = await sourcesOf({ tenant: TENANT, filter: query, lead, nearest: null }, query);
        for (const [way, source] of Object.entries(sources)) {
          if (source === null) continue;
          const { results } = await pageStatement(HISTORY, query, source).all<{ id: string }>();
          expect([way, sort, after, results.map(({ id }) => id)]).toEqual([
            way,
            sort,
            after,
            expected.slice(after, after + 4),
          ]);
        }
      }
  });
});
