// The sums of cost: the object adds up the usual attempts of a load, history the others. Whoever does it, the sums are
// those of the attempts, however often a load is sent and with however many rows.

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { addUp } from "../../../durable-objects/history/add-up.ts";
import { attemptRow, spentInserts } from "../../../durable-objects/history/projection.ts";
import { type Insert, inserts } from "../../../durable-objects/history/statements.ts";
import type { Attempt, OutboxRow } from "../../../durable-objects/store/outbox.ts";
import { pendingJob } from "../../domain/job/sample-jobs.ts";

const HOUR_MS = 3_600_000;
let lastTenant = 0;

const tagsOf = (n: number): string[] => [[], ["a"], ["a", "b"]][n % 3] ?? [];
const metadataOf = (n: number): Record<string, string> => (n % 4 === 0 ? { team: `t${n % 5}` } : {});
const jobs = Array.from({ length: 24 }, (_, n) => ({
  ...pendingJob({ tags: tagsOf(n), metadata: metadataOf(n) }),
  id: `job-${n}`,
  keyId: n % 2 === 0 ? "k1" : null,
  schedule: n % 5 === 0 ? "nightly" : null,
}));

const attempt = (n: number, lease = 1, more: Partial<Attempt> = {}): Attempt => ({
  jobId: `job-${n}`,
  lease,
  at: n * HOUR_MS + lease,
  provider: n % 2 === 0 ? "openai" : "local",
  model: n % 3 === 0 ? null : "m",
  worker: `w${n % 2}`,
  outcome: "completed",
  inputTokens: n,
  outputTokens: 2 * n,
  cachedInputTokens: 1,
  reasoningTokens: 0,
  nanoUsd: n % 4 === 1 ? null : 1_000 * n,
  source: "reported",
  price: null,
  ...more,
});

const row = (seq: number, attempts: Attempt[]): OutboxRow => {
  const entries = { events: [], attempts, audit: [], runs: [] };
  return { seq, at: 0, chars: 1, entries };
};

/** Jobs that differ in their schedule alone. */
const ALIKE = [10, 22];
const AT_ONCE = { at: HOUR_MS };

/** A failed first lease and its retry, and first leases that are told late, one of them after the second. */
const ROWS = [
  row(1, [...[0, 1, 2, 3].map((n) => attempt(n)), ...ALIKE.map((n) => attempt(n, 1, AT_ONCE))]),
  row(2, [attempt(4, 1, { outcome: "failed" }), attempt(4, 2), attempt(5, 2)]),
  row(3, [attempt(6, 1, { outcome: "late" }), attempt(7), attempt(1, 2)]),
  row(4, [
    attempt(4, 3),
    attempt(5, 1, { outcome: "late" }),
    ...[8, 9, 11].map((n) => attempt(n)),
    ...ALIKE.map((n) => attempt(n, 2, AT_ONCE)),
  ]),
];

const newTenant = async (): Promise<string> => {
  const tenant = `added-up-${lastTenant++}`;
  const insert = `INSERT INTO jobs (tenant, id, version, status, key_id, schedule, labels, created_at, record, events)
    VALUES (?1, ?2, 1, 'completed', ?3, ?4, ?5, 0, '{}', '[]')`;
  for (const { id, keyId, schedule, tags, metadata } of jobs) {
    const labels = [
      ...tags.map((tag) => ["tag", tag]),
      ...Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, value]),
    ];
    await env.DB.prepare(insert).bind(tenant, id, keyId, schedule, JSON.stringify(labels)).run();
  }
  return tenant;
};

const apply = async (tenant: string, statements: readonly Insert[]): Promise<void> => {
  await env.DB.batch(statements.map(({ sql, values }) => env.DB.prepare(sql).bind(tenant, ...values)));
};
const send = (tenant: string, rows: readonly OutboxRow[]): Promise<void> =>
  apply(
    tenant,
    spentInserts(
      rows,
      jobs.map((job) => ({ job, dueAt: null })),
    ),
  );

const sumsOf = async (tenant: string): Promise<unknown[]> => {
  const read = (sql: string) => env.DB.prepare(sql).bind(tenant).all();
  const sums = "jobs, unpriced_jobs, nano_usd, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens";
  const byHour = `SELECT hour_at, provider, model, ${sums} FROM cost_hours WHERE tenant = ? ORDER BY 1, 2, 3`;
  const byGroup = `SELECT name, hour_at, value, ${sums} FROM cost_by_hours WHERE tenant = ? ORDER BY 1, 2, 3`;
  const attempts = "SELECT job_id, lease, nano_usd FROM attempts WHERE tenant = ? ORDER BY 1, 2";
  return (await Promise.all([byHour, byGroup, attempts].map(read))).map(({ results }) => results);
};

/** What history adds up alone, attempt by attempt. */
const expected = async (): Promise<unknown[]> => {
  const tenant = await newTenant();
  for (const one of ROWS.flatMap(({ entries }) => entries.attempts))
    await apply(tenant, inserts("otherAttempts", [attemptRow(one)]));
  return sumsOf(tenant);
};

test.each<[how: string, loads: number[][]]>([
  ["in one load", [[1, 2, 3, 4]]],
  ["in a load for each row", [[1], [2], [3], [4]]],
  [
    "in loads that are sent again",
    [
      [1, 2],
      [1, 2],
      [3, 4],
      [3, 4],
    ],
  ],
  ["in a load that is sent again with more", [[1], [1, 2, 3], [2, 3, 4]]],
  ["in a load that comes again after a longer one", [[1, 2, 3, 4], [1, 2], [4]]],
])("are those of the attempts, %s", async (_, loads) => {
  const tenant = await newTenant();
  for (const load of loads)
    await send(
      tenant,
      ROWS.filter(({ seq }) => load.includes(seq)),
    );
  expect(await sumsOf(tenant)).toEqual(await expected());
});

test("count nothing again of a load that an earlier release had sent", async () => {
  const tenant = await newTenant();
  const attempts = ROWS.slice(0, 2).flatMap(({ entries }) => entries.attempts);
  await apply(tenant, inserts("otherAttempts", attempts.map(attemptRow)));
  await send(tenant, ROWS);
  expect(await sumsOf(tenant)).toEqual(await expected());
});

test("a usual attempt's are few rows, however many jobs they are of", () => {
  const many = row(
    1,
    Array.from({ length: 500 }, (_, n) => ({ ...attempt(0), jobId: `many-${n}` })),
  );
  const alike = new Map(many.entries.attempts.map(({ jobId }) => [jobId, pendingJob({ tags: ["a"] })]));
  const { hourSums, groupSums, usual, others } = addUp([many], alike);
  expect([hourSums.length, groupSums.length, usual.length, others.length]).toEqual([1, 4, 500, 0]);
});

test("of jobs with a thousand different labels are left to history, so that no load grows with them", () => {
  const many = row(
    1,
    Array.from({ length: 500 }, (_, n) => ({ ...attempt(0), jobId: `many-${n}` })),
  );
  const tags = (n: number) => [`a-${n}`, `b-${n}`, `c-${n}`];
  const different = new Map(many.entries.attempts.map(({ jobId }, n) => [jobId, pendingJob({ tags: tags(n) })]));
  const { hourSums, groupSums, usual, others } = addUp([many], different);
  expect([hourSums.length, groupSums.length, usual.length, others.length]).toEqual([0, 0, 0, 500]);
});
