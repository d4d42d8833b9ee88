// How SQLite reads history: what one tenant asks for is bounded by an index that begins with the tenant. Every
// pair of filters of lists, bulk changes and the audit log; all else that reads is in `query-plans-of-work`.

import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { auditQuery } from "../../contract/audit.ts";
import { JOB_SORTS, jobFilter, jobListQuery, MAX_COUNTED } from "../../contract/jobs/job-list.ts";
import { findArchivedRecords } from "../../durable-objects/history/archive.ts";
import { listAudit } from "../../src/history/audit.ts";
import { findManyArchived, selectForBulk } from "../../src/history/bulk.ts";
import { writeCursor } from "../../src/history/job-cursor.ts";
import { listJobs } from "../../src/history/lists/list-jobs.ts";
import { faultsIn, NotedQueries, type Plan } from "../support/workerd/query-plans.ts";

const { DB } = env as unknown as { DB: D1Database };
const TENANT = "any";

const VALUES: Readonly<Record<string, string>> = {
  status: "failed",
  unpriced: "true",
  since: "2020-01-01T00:00:00.000Z",
  until: "2030-01-01T00:00:00.000Z",
  unpriced_since: "2020-01-01T00:00:00.000Z",
  unpriced_until: "2030-01-01T00:00:00.000Z",
};

/** Each name alone, and with each other one. */
const pairsOf = (names: readonly string[]): Record<string, string>[] =>
  names.flatMap((one, index) =>
    names.slice(index).map((other) => Object.fromEntries([one, other].map((name) => [name, VALUES[name] ?? "some"]))),
  );
const JOB_FILTERS = [{}, ...pairsOf([...Object.keys(jobFilter.shape), "metadata.team"])];
/** A search finds beginnings of ids, or has words, or neither; many jobs match, or few. */
const FIRSTS = [null, 1, MAX_COUNTED + 1];

describe("history is read through an index of the tenant", () => {
  it("for every pair of filters of a list of jobs, in every order, from its beginning or a cursor", async () => {
    const noted = new NotedQueries(DB);
    for (const first of FIRSTS)
      for (const filter of JOB_FILTERS)
        for (const sort of [...JOB_SORTS, ...JOB_SORTS.map((name) => `-${name}` as const)])
          for (const value of [undefined, 5, null]) {
            const cursor = value === undefined ? {} : { cursor: writeCursor(sort, { value, id: "a" }) };
            await listJobs(noted.history(TENANT, { first }), jobListQuery.parse({ ...filter, sort, ...cursor }));
          }
    await listJobs(noted.history(TENANT, { first: null }), jobListQuery.parse({ q: "§" }));
    const plans = await noted.plans();
    expect(plans.length).toBeGreaterThan(500);
    expect(faultsIn(plans)).toEqual([]);
  });

  const readsOf = (lines: Plan["lines"]): string[] =>
    lines.map(({ detail }) => detail).filter((detail) => /^(SCAN|SEARCH) (jobs|told) /.test(detail));

  /** The steps of a plan that choose a page's jobs. */
  const choosing = ({ lines }: Plan): string[] => {
    const listed = lines.find(({ detail }) => detail === "CO-ROUTINE listed");
    return lines.filter(({ parent }) => parent === listed?.id).map(({ detail }) => detail);
  };

  const OTHER_SORTS = ["finished_at", "-finished_at", "cost_usd", "-cost_usd"] as const;

  it("in the order of the list where many jobs match: they are not sorted for a page", async () => {
    const noted = new NotedQueries(DB);
    // Several words are the beginning of no id.
    const filters = JOB_FILTERS.map((filter) => ("q" in filter ? { ...filter, q: "two words" } : filter));
    for (const filter of filters)
      for (const sort of [...JOB_SORTS, ...JOB_SORTS.map((name) => `-${name}` as const)])
        await listJobs(noted.history(TENANT, { first: MAX_COUNTED + 1 }), jobListQuery.parse({ ...filter, sort }));
    const pages = (await noted.plans()).filter((plan) => choosing(plan).length > 0);
    expect(pages.length).toBeGreaterThan(100);
    // What the index finds is counted and then cut to a page: row numbers, at most as many as are told.
    const isGoneThroughOnce = ({ sql }: Plan): boolean => sql.startsWith("WITH found AS MATERIALIZED");
    const sorted = pages.filter((plan) => choosing(plan).some((step) => step.includes("TEMP B-TREE")));
    expect(sorted.filter((plan) => !isGoneThroughOnce(plan))).toEqual([]);
    for (const { sql } of pages.filter(isGoneThroughOnce)) expect(sql).toContain(`LIMIT ${MAX_COUNTED + 1})`);
  });

  it("once for a page and the count, where the index knows all that is asked", async () => {
    const noted = new NotedQueries(DB);
    for (const filter of [
      { status: "failed", tag: "some" },
      { q: "two words", tag: "some" },
      { tag: "some", offset: "500" },
    ])
      for (const sort of ["created_at", "-created_at"])
        await listJobs(noted.history(TENANT, { first: null }), jobListQuery.parse({ ...filter, sort }));
    const plans = (await noted.plans()).filter(({ sql }) => sql.includes("job_terms MATCH"));
    const pages = plans.filter((plan) => choosing(plan).length > 0);
    // One for each direction: their values are bound.
    expect(pages).toHaveLength(2);
    for (const { lines } of pages) {
      const read = lines.filter(({ detail }) => /^(SCAN|SEARCH) job/.test(detail)).map(({ detail }) => detail);
      expect(read[0]).toMatch(/^SCAN job_terms VIRTUAL TABLE/);
      // Those of the page.
      expect(read.slice(1)).toEqual(["SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"]);
    }
    // An empty page beyond the first is counted by itself.
    expect(plans.filter((plan) => !pages.includes(plan))).toHaveLength(1);
  });

  it("and in an order by end or cost reads only what the index finds, unless enough are soon found", async () => {
    const noted = new NotedQueries(DB);
    const pagesOf = async (soon: number, filter: Record<string, string>): Promise<boolean[]> => {
      const first = (sql: string) => (sql.includes("AS looked_at") ? soon : MAX_COUNTED + 1);
      for (const sort of OTHER_SORTS)
        await listJobs(noted.history(TENANT, { first }), jobListQuery.parse({ ...filter, sort }));
      const plans = await noted.plans();
      const looked = plans.filter(({ sql }) => sql.includes("AS looked_at"));
      for (const { sql, lines } of looked) {
        expect(sql).toMatch(/ORDER BY jobs\.\w+ \w+(?: NULLS LAST)?, jobs\.seq \w+ LIMIT 2040\) AS looked_at/);
        expect(lines.some(({ detail }) => detail.includes("TEMP B-TREE"))).toBe(false);
      }
      const pages = plans.filter((plan) => choosing(plan).length > 0);
      return pages.map(({ sql, lines }) => {
        const isOfIndex = lines.some(({ detail }) => detail.startsWith("SCAN job_terms VIRTUAL TABLE"));
        if (isOfIndex) expect(sql).toMatch(/ORDER BY job_terms\.rowid (?:ASC|DESC) LIMIT 250000\)/);
        return isOfIndex;
      });
    };
    const [no, yes] = [
      [true, true, true, true],
      [false, false, false, false],
    ];
    expect(await pagesOf(50, { tag: "old" })).toEqual(no);
    expect(await pagesOf(50, { tag: "old", since: VALUES.since ?? "" })).toEqual(no);
    expect(await pagesOf(51, { tag: "old" })).toEqual(yes);
    expect(await pagesOf(51, { q: "two words" })).toEqual(no);
    // A page that lies deeper than is looked at.
    expect(await pagesOf(51, { tag: "old", offset: "5000" })).toEqual(no);
  });

  it("and asks the index of a search only between the row numbers of the first jobs, if these have enough", async () => {
    const noted = new NotedQueries(DB);
    const pagesOf = async (most: number, q: string): Promise<Plan[]> => {
      const first = (sql: string) => {
        if (sql.includes("AS least")) return { least: 1, most };
        return sql.includes("AS looked_at") ? 51 : MAX_COUNTED + 1;
      };
      for (const sort of OTHER_SORTS) await listJobs(noted.history(TENANT, { first }), jobListQuery.parse({ q, sort }));
      return (await noted.plans()).filter((plan) => choosing(plan).length > 0);
    };
    const [near, far] = [await pagesOf(250_001, "two words"), await pagesOf(250_002, "two words")];
    for (const { sql } of near)
      expect(sql).toMatch(
        /job_terms\.rowid >= CAST\(\?\d AS INTEGER\) AND job_terms\.rowid <= CAST\(\?\d AS INTEGER\) \)/,
      );
    for (const { sql } of far) expect(sql).toMatch(/ORDER BY job_terms\.rowid (?:ASC|DESC) LIMIT 250000\)/);
    // All ids with one beginning are a span of row numbers.
    const ids = await pagesOf(250_002, "some");
    for (const { sql } of ids)
      expect(sql).toMatch(/ AND \(\(jobs\.seq >= \(SELECT seq FROM jobs WHERE tenant = \?1 AND id >= /);
    expect([near.length, far.length, ids.length]).toEqual([4, 4, 4]);
  });

  it("and in such an order compares a span of time with row numbers, of which the index has each", async () => {
    const noted = new NotedQueries(DB);
    const { since, until } = VALUES;
    for (const span of [{ since }, { until }, { since, until }])
      for (const sort of OTHER_SORTS)
        await listJobs(noted.history(TENANT, { first: MAX_COUNTED + 1 }), jobListQuery.parse({ ...span, sort }));
    const pages = (await noted.plans()).filter((plan) => choosing(plan).length > 0);
    expect(pages).toHaveLength(12);
    for (const { sql } of pages)
      expect(sql).toMatch(/ AND jobs\.seq [<>]= \(SELECT seq FROM jobs WHERE tenant = \?1 AND created_at/);
  });

  it("and where each job is looked at to be counted, at most as many as are told", async () => {
    const noted = new NotedQueries(DB);
    const filter = { tag: "old", unpriced: "false", sort: "finished_at" };
    await listJobs(noted.history(TENANT, { first: 1 }), jobListQuery.parse(filter));
    const counts = (await noted.plans()).filter(({ sql }) => sql.startsWith("SELECT COUNT(*) AS total"));
    expect(counts.map(({ sql }) => /LIMIT (\d+)\)$/.exec(sql)?.[1])).toEqual([String(MAX_COUNTED + 1)]);
  });

  it("by the beginning of ids as a span of row numbers, and by words, each as far as the page needs", async () => {
    const noted = new NotedQueries(DB);
    const { since, until } = VALUES;
    const cursor = writeCursor("created_at", { value: 5, id: "a" });
    for (const more of [{}, { since }, { since, until }, { tag: "some" }, { cursor }, { unpriced: "false" }])
      await listJobs(noted.history(TENANT, { first: 1 }), jobListQuery.parse({ ...more, q: "some" }));
    const plans = (await noted.plans()).filter(({ sql }) => sql.includes("job_terms MATCH"));
    const pages = plans.filter((plan) => choosing(plan).length > 0);
    expect([plans.length, pages.length]).toEqual([9, 5]);
    for (const { sql, lines } of plans) {
      const limit = pages.some((page) => page.sql === sql) ? 51 : MAX_COUNTED + 1;
      const [byWords = "", byIds = ""] = sql.split(" UNION ");
      for (const part of [byWords, byIds]) expect(part).toContain(`ORDER BY job_terms.rowid DESC LIMIT ${limit}`);
      expect(byIds).toContain("job_terms.rowid >= (SELECT seq FROM jobs WHERE tenant = ?1 AND id >=");
      const ids = lines.filter(({ detail }) => detail.includes("jobs_by_id")).map(({ detail }) => detail);
      expect(new Set(ids)).toEqual(
        new Set([">?", "<?"].map((id) => `SEARCH jobs USING COVERING INDEX jobs_by_id (tenant=? AND id${id})`)),
      );
    }
  });

  it("by the attempts without a price, in an index that has no others, also where these are many and old", async () => {
    const noted = new NotedQueries(DB);
    const filters = [{}, { since: VALUES.since }, { tag: "gpu" }, { status: "completed" }, { q: "two words" }] as const;
    for (const filter of filters)
      for (const [first, sorts] of [[1, JOB_SORTS] as const, [MAX_COUNTED + 1, ["created_at", "-created_at"]] as const])
        for (const sort of sorts)
          await listJobs(noted.history(TENANT, { first }), jobListQuery.parse({ ...filter, sort, unpriced: "true" }));
    const plans = (await noted.plans()).filter((plan) => choosing(plan).length > 0);
    expect(plans).toHaveLength(filters.length * (JOB_SORTS.length + 1));
    for (const { lines } of plans)
      expect(readsOf(lines).slice(0, 2)).toEqual([
        "SEARCH told USING INDEX attempts_unpriced (tenant=?)",
        expect.stringMatching(/^SEARCH jobs USING (?:COVERING )?INDEX jobs_by_id \(tenant=\? AND id=\?\)$/),
      ]);
  });

  it("with a count that reads no row of a job where the full-text index knows all that is asked", async () => {
    const noted = new NotedQueries(DB);
    const { since, until } = VALUES;
    for (const span of [{ count_only: "true" }, { since }, { until }, { since, until }])
      for (const filter of [
        { status: "failed" },
        { q: "some" },
        { tag: "some", q: "some" },
        { "metadata.team": "some" },
      ])
        await listJobs(noted.history(TENANT, { first: null }), jobListQuery.parse({ ...filter, ...span }));
    const counts = (await noted.plans()).filter(({ sql }) => sql.startsWith("SELECT COUNT(*) AS total"));
    expect(counts).toHaveLength(4);
    for (const { lines, sql } of counts) {
      const reads = lines.map(({ detail }) => detail).filter((detail) => /^(SCAN|SEARCH) job/.test(detail));
      expect(reads.length).toBeGreaterThan(0);
      // The ends of a span are the first entries of an index.
      for (const read of reads)
        expect(read, sql).toMatch(/^(SCAN job_terms VIRTUAL TABLE|SEARCH jobs USING COVERING INDEX jobs_newest)/);
    }
  });

  it("and for a bulk change of many reads only jobs in a status that it changes", async () => {
    const noted = new NotedQueries(DB);
    for (const filter of [{}, { tag: "some" }, { q: "two words" }, { since: VALUES.since }])
      for (const action of ["retry", "cancel"] as const)
        await selectForBulk(noted.history(TENANT, { first: null }), action, jobFilter.parse(filter));
    const plans = (await noted.plans()).filter(({ sql }) => sql.includes("jobs"));
    const byStatus = plans.filter(({ sql }) => sql.includes("jobs.status IN"));
    // The two read of any filter of the index, and of a span of time, for either action.
    expect(byStatus).toHaveLength(8);
    for (const { lines } of byStatus) {
      expect(lines[0]?.detail).toMatch(/^(CO-ROUTINE|SCAN job_terms VIRTUAL TABLE)/);
      expect(readsOf(lines).filter((read) => !read.includes("jobs_newest"))).toEqual([
        "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)",
      ]);
    }
    for (const { lines } of plans.filter((plan) => !byStatus.includes(plan)))
      for (const read of readsOf(lines)) expect(read).toContain("USING COVERING INDEX");
  });

  it("for every filter of a bulk change and of the audit log", async () => {
    const noted = new NotedQueries(DB);
    for (const first of FIRSTS)
      for (const filter of JOB_FILTERS)
        for (const action of ["retry", "cancel"] as const)
          await selectForBulk(noted.history(TENANT, { first }), action, jobFilter.parse(filter));
    const page = ["limit", "offset"];
    for (const filter of pairsOf(Object.keys(auditQuery.shape).filter((name) => !page.includes(name))))
      await listAudit(noted.history(TENANT, { first: null }), auditQuery.parse(filter));
    await findManyArchived(noted.history(TENANT), ["a", "b"], 0);
    await findArchivedRecords(() => noted.database(), TENANT, [{ id: "a", absentAt: 0 }]);
    expect(faultsIn(await noted.plans())).toEqual([]);
  });
});
