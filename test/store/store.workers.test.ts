// The object's tables in real workerd: they open on earlier data, and the queries of every turn use an index.

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createJob, type NewJob } from "../../domain/job/new-job.ts";
import { filesTable } from "../../durable-objects/store/files.ts";
import { openStore, type Store } from "../../durable-objects/store/open.ts";
import { RECENT_CHARS } from "../../durable-objects/store/recent-rows.ts";
import { migrate, SCHEMA_STEPS } from "../../durable-objects/store/schema/schema.ts";
import { all, type Sql, type SqlValue } from "../../durable-objects/store/sql.ts";
import { deliveriesTable } from "../../durable-objects/store/webhooks/deliveries.ts";
import { asked } from "../support/new-job.ts";

const inStore = <T>(name: string, use: (store: Store, storage: DurableObjectStorage) => T): Promise<T> =>
  runInDurableObject(env.TENANT.getByName(name), (_tenant, state) => use(openStore(state.storage), state.storage));

const put = (store: Store, id: string, changes: Partial<NewJob> = {}, nowAt = 1_000): void => {
  const { job, payload } = createJob({ ...asked, ...changes }, id, nowAt);
  store.jobs.put(job, null, 1);
  if (payload !== undefined) store.payloads.put(id, payload);
};

test("tables that exist are opened as they are", async () => {
  await inStore("reopened", (store) => put(store, "a"));
  const found = await inStore("reopened", (store) => ({
    job: store.jobs.find("a"),
    payload: store.payloads.find("a"),
  }));
  expect(found.job).toMatchObject({ id: "a", status: "pending", version: 1 });
  expect(found.payload).toEqual({ prompt: "p", input: { deep: [1, "two", null] } });
});

test("a migration that fails half-way leaves the tables of the version before", async () => {
  const found = await inStore("half-way", (store, storage) => {
    put(store, "a");
    const broken = [...SCHEMA_STEPS, ["ALTER TABLE jobs ADD COLUMN added TEXT", "SELECT * FROM nowhere"]];
    expect(() => storage.transactionSync(() => migrate(storage.sql, broken))).toThrow(/nowhere/);
    const columns = all(storage.sql, "SELECT name FROM pragma_table_info('jobs')").map(({ name }) => name);
    return { columns, steps: all(storage.sql, "SELECT step FROM schema_steps").length, job: store.jobs.find("a") };
  });
  expect(found.columns).not.toContain("added");
  expect(found.steps).toBe(SCHEMA_STEPS.length);
  expect(found.job).toMatchObject({ id: "a", status: "pending" });
});

test("a config stored before a setting was known has that setting's default", async () => {
  const read = await inStore("old config", (store, storage) => {
    const document = { jobs: { timeout_seconds: 7 }, ollama: { model: "llama3.2" } };
    const old = JSON.stringify({ etag: '"old"', document });
    storage.sql.exec("INSERT INTO settings (name, value) VALUES ('config', ?)", old);
    return store.settings.config();
  });
  expect(read?.etag).toBe('"old"');
  expect(read?.document).toMatchObject({
    jobs: { timeout_seconds: 7, max_attempts: 5, accept_within_seconds: 30 },
    presence: { offline_after_seconds: 60 },
    ollama: { model: "llama3.2" },
  });
});

test("the longest answer of a batch's line fits into a row, and one that a release before wrote is read", async () => {
  const answer = { line: 1, state: "completed", jobId: "a", status: 200, resultFile: null } as const;
  const longest = JSON.stringify({ 2: '"\n'.repeat(260_000), text: "…" });
  const earlier = { ...answer, line: 2, body: '"text"' };
  const read = await inStore("line ends", ({ lineEnds }, storage) => {
    lineEnds.put("b", { ...answer, body: longest });
    lineEnds.put("b", { ...answer, line: 3, body: null });
    const values = ["b", 2, 10, JSON.stringify(earlier)];
    storage.sql.exec("INSERT INTO line_ends (batch, line, chars, answer) VALUES (?, ?, ?, ?)", ...values);
    return lineEnds.of("b", { rows: 10, chars: 10_000_000 });
  });
  expect(read).toEqual([{ ...answer, body: longest }, earlier, { ...answer, line: 3, body: null }]);
});

test("the oldest job of a group is the one created first, whatever its priority", async () => {
  const oldest = await inStore("oldest", (store) => {
    put(store, "b", { priority: "critical" }, 2_000);
    put(store, "a", { priority: "low" }, 1_000);
    const key = store.jobs.find("a")?.groupKey ?? "";
    const both = store.jobs.oldestOf(key);
    store.jobs.removeMany(["a"]);
    const left = store.jobs.oldestOf(key);
    store.jobs.removeMany(["b"]);
    return [both, left, store.jobs.oldestOf(key)];
  });
  expect(oldest).toEqual(["a", "b", null]);
});

test("the head of a group is its job of the highest standing, the older one first", async () => {
  const heads = await inStore("heads", (store) => {
    put(store, "b", {}, 2_000);
    put(store, "a", {}, 1_000);
    put(store, "c", { priority: "critical" }, 3_000);
    put(store, "d", { tags: ["gpu"] }, 500);
    const key = store.jobs.find("a")?.groupKey ?? "";
    const first = store.jobs.headOf(key);
    store.jobs.removeMany(["c"]);
    return { first, second: store.jobs.headOf(key), counts: store.jobs.waitingCounts() };
  });
  expect(heads.first?.id).toBe("c");
  expect(heads.second?.id).toBe("a");
  expect(heads.counts.map(({ count }) => count).sort()).toEqual([1, 2]);
});

test("a job that leaves takes its prompt and result along", async () => {
  const left = await inStore("left", (store, storage) => {
    put(store, "a");
    store.payloads.putResult("a", { text: "done" });
    store.jobs.removeMany(["a"]);
    return ["jobs", "payloads", "results"].map((table) => all(storage.sql, `SELECT * FROM ${table}`).length);
  });
  expect(left).toEqual([0, 0, 0]);
});

test("results keep every JSON value, and null is no result", async () => {
  const values = [0, false, "", [], {}, { text: "ü\u2028" }, [null]];
  const read = await inStore("values", (store) =>
    values.map((value) => {
      store.payloads.putResult("a", value);
      return store.payloads.findResult("a");
    }),
  );
  expect(read).toEqual(values);
  expect(
    await inStore("values", (store) => {
      store.payloads.putResult("a", null);
      return store.payloads.findResult("a");
    }),
  ).toBeNull();
});

test("outbox rows are read in order and forgotten up to a number", async () => {
  const seen = await inStore("outbox", (store) => {
    const nothing = { events: [], attempts: [], audit: [], runs: [] };
    for (const seq of [3, 1, 2]) store.outbox.put({ seq, at: seq * 10, chars: 400, entries: nothing });
    const read = (rows: number, chars: number, from?: number) =>
      store.outbox.oldest({ rows, chars }, from).map((row) => row.seq);
    const [all, few, light, one] = [read(10, 2_000), read(2, 2_000), read(10, 500), read(10, 1)];
    const later = read(10, 2_000, 2);
    const counts = [store.outbox.count()];
    store.outbox.removeUpTo(2);
    counts.push(store.outbox.count());
    const after = { after: read(10, 2_000), first: store.outbox.firstSeq() };
    store.outbox.removeUpTo(3);
    return { all, few, light, one, later, ...after, counts: [...counts, store.outbox.count()] };
  });
  const after = { after: [3], first: 3, counts: [3, 1, 0] };
  expect(seen).toEqual({ all: [1, 2, 3], few: [1, 2], light: [1, 2], one: [1], later: [2, 3], ...after });
});

test("outbox rows that are in memory are read on up to the first that is not", async () => {
  const seen = await inStore("recent-rows", (store) => {
    const nothing = { events: [], attempts: [], audit: [], runs: [] };
    for (const seq of [1, 2, 3, 4, 5])
      store.outbox.put({ seq, at: 0, chars: seq === 3 ? RECENT_CHARS : 400, entries: nothing });
    return [0, 1, 2, 3].map((after) => store.outbox.recentAfter(after).map(({ seq }) => seq));
  });
  expect(seen).toEqual([[1, 2], [2], [], [4, 5]]);
});

/** The queries of every turn or sweep. */
const HOT_QUERIES: Record<string, string> = {
  "the head of a group":
    "SELECT id FROM jobs WHERE group_key = 'g' AND order_key IS NOT NULL ORDER BY order_key, id LIMIT 1",
  "waiting jobs by group": "SELECT group_key, COUNT(*) FROM jobs WHERE order_key IS NOT NULL GROUP BY group_key",
  "jobs that are due": "SELECT record FROM jobs WHERE due_at IS NOT NULL AND due_at <= 5 ORDER BY due_at LIMIT 9",
  "the next deadline": "SELECT MIN(due_at) FROM jobs WHERE due_at IS NOT NULL",
  "what a worker holds": "SELECT record FROM jobs WHERE worker = 'w' ORDER BY id",
  "an open job of a schedule": "SELECT id FROM jobs WHERE schedule = 's' LIMIT 1",
  "schedules that are due": "SELECT record FROM schedules WHERE next_run_at IS NOT NULL AND next_run_at <= 5",
  "a group's oldest job": "SELECT MIN(id) AS id FROM jobs WHERE group_key = 'g' AND order_key IS NOT NULL",
  "the next end of a rotated key's grace":
    "SELECT MIN(record ->> '$.previousUntilAt') FROM keys WHERE record ->> '$.previousUntilAt' IS NOT NULL",
  "whether another admin key is left":
    "SELECT record FROM keys WHERE record ->> '$.role' = 'admin' AND record ->> '$.revokedAt' IS NULL AND record ->> '$.personId' IS NULL LIMIT 2",
  "a key whose grace has ended": "SELECT record FROM keys WHERE record ->> '$.previousUntilAt' <= 5",
};

test.each(Object.entries(HOT_QUERIES))("%s is found through an index", async (_what, query) => {
  const plan = await inStore("plans", (_store, storage) =>
    all(storage.sql, `EXPLAIN QUERY PLAN ${query}`).map((row) => String(row.detail)),
  );
  expect(plan.join("; ")).toMatch(/USING (COVERING )?INDEX/);
  expect(plan.join("; ")).not.toMatch(/SCAN (jobs|keys)(?! USING)/);
});

/** Passes on what is asked, and keeps how SQLite does it. */
const planned = (sql: Sql, table: string): { readonly sql: Sql; readonly plans: string[] } => {
  const isOfTable = new RegExp(`^(?:SCAN|SEARCH) ${table}`);
  const plans: string[] = [];
  const exec: Sql["exec"] = (query, ...bindings) => {
    const plan = all(sql, `EXPLAIN QUERY PLAN ${query}`, ...(bindings as SqlValue[])).map(({ detail }) =>
      String(detail),
    );
    plans.push(plan.filter((line) => isOfTable.test(line)).join("; "));
    return sql.exec(query, ...bindings);
  };
  return { sql: { exec, databaseSize: 0 }, plans };
};

test("files are counted, and found by purpose and by key, without reading the records of others", async () => {
  const asked = await inStore("files", (_store, storage) => {
    const { sql, plans } = planned(storage.sql, "files");
    const files = filesTable(sql);
    const page = { purpose: "batch", ofKey: "k", nowAt: 1 };
    files.count(page);
    files.page(page, 200, 0);
    for (const isAscending of [true, false]) files.after(page, { after: null, isAscending, limit: 101 });
    return plans;
  });
  const listed = "files USING COVERING INDEX files_listed";
  const one = "SEARCH files USING PRIMARY KEY (id=?)";
  expect(asked).toEqual([
    `SCAN ${listed}`,
    `SCAN ${listed}; ${one}`,
    `SEARCH ${listed} ((created_at,id)>(?,?)); ${one}`,
    `SEARCH ${listed} ((created_at,id)<(?,?)); ${one}`,
  ]);
});

test("deliveries of a status are counted without reading the others", async () => {
  const asked = await inStore("deliveries", (_store, storage) => {
    const { sql, plans } = planned(storage.sql, "deliveries");
    deliveriesTable(sql).count("w", "failed");
    return plans;
  });
  expect(asked).toEqual(["SEARCH deliveries USING COVERING INDEX deliveries_of (webhook_id=?)"]);
});
