// A database that notes every statement it is asked, and SQLite's plans of them. Without statistics, and D1 keeps none, a
// plan does not depend on how many rows there are.

import { TenantHistory } from "../../../src/history/tenant-history.ts";
import { TENANT_TABLES } from "../../../src/history/tenant-tables.ts";

type Asked = readonly [sql: string, values: readonly unknown[]];

/** What a statement answers without being run: always the same, or by its text. */
export interface Canned {
  readonly first: unknown | ((sql: string) => unknown);
}

export class NotedQueries {
  readonly #db: D1Database;
  readonly #asked = new Map<string, readonly unknown[]>();
  readonly #plain = new WeakMap<D1PreparedStatement, { statement: D1PreparedStatement; asked: Asked }>();

  constructor(db: D1Database) {
    this.#db = db;
  }

  /** Runs what it notes, or answers as it is told. */
  database(canned?: Canned): D1Database {
    return {
      prepare: (sql: string) => this.#noting(this.#db.prepare(sql), [sql, []], canned),
      batch: async (statements: D1PreparedStatement[]) => {
        const known = statements.map((one) => this.#plain.get(one));
        for (const one of known) if (one !== undefined) this.#asked.set(...one.asked);
        if (canned !== undefined) return known.map(() => NOTHING);
        return this.#db.batch(known.map((one) => one?.statement as D1PreparedStatement));
      },
    } as unknown as D1Database;
  }

  history(tenant: string, canned?: Canned): TenantHistory {
    return new TenantHistory(this.database(canned), tenant);
  }

  #noting(statement: D1PreparedStatement, asked: Asked, canned: Canned | undefined): D1PreparedStatement {
    const run =
      (method: "first" | "all" | "run" | "raw") =>
      async (...given: unknown[]): Promise<unknown> => {
        this.#asked.set(...asked);
        if (canned !== undefined && method !== "first") return NOTHING;
        if (canned !== undefined) return typeof canned.first === "function" ? canned.first(asked[0]) : canned.first;
        return (statement[method] as (...given: unknown[]) => unknown)(...given);
      };
    const one = {
      bind: (...values: unknown[]) => this.#noting(statement.bind(...values), [asked[0], values], canned),
      ...{ first: run("first"), all: run("all"), run: run("run"), raw: run("raw") },
    } as unknown as D1PreparedStatement;
    this.#plain.set(one, { statement, asked });
    return one;
  }

  /** The plan of each, and forgets them. */
  async plans(): Promise<Plan[]> {
    const all = [...this.#asked];
    this.#asked.clear();
    const found: Plan[] = [];
    for (let from = 0; from < all.length; from += EXPLAINED_AT_A_TIME) {
      const some = all.slice(from, from + EXPLAINED_AT_A_TIME);
      const explained = await this.#db.batch<PlanLine>(
        some.map(([sql, values]) => this.#db.prepare(`EXPLAIN QUERY PLAN ${sql}`).bind(...values)),
      );
      found.push(
        ...some.map(([sql], index) => ({ sql: sql.replaceAll(/\s+/g, " "), lines: explained[index]?.results ?? [] })),
      );
    }
    return found;
  }
}

const NOTHING = { results: [], meta: { changes: 0 } };
const EXPLAINED_AT_A_TIME = 50;

interface PlanLine {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

export interface Plan {
  readonly sql: string;
  readonly lines: readonly PlanLine[];
}

const TABLES = Object.keys(TENANT_TABLES).join("|");
const NO_ALIAS = "WHERE|SET|JOIN|ON|LEFT|CROSS|ORDER|GROUP|LIMIT|VALUES|SELECT|UNION";
const NAMED = new RegExp(`\\b(?:FROM|JOIN|INTO|UPDATE) (${TABLES})\\b(?: (?:AS )?(?!(?:${NO_ALIAS})\\b)(\\w+))?`, "gi");

/** The names by which a plan shows tables of history. */
const tableNames = (sql: string): Set<string> =>
  new Set([...sql.matchAll(NAMED)].map(([, table = "", alias]) => alias ?? table));

const IS_BOUNDED = /\(tenant=\?|USING (?:INTEGER )?PRIMARY KEY \((?:rowid|tenant)=\?/;

/** Steps of a plan that read a table of history, or its full-text index, beyond what one tenant's index entries are. */
const unbounded = ({ sql, lines }: Plan): string[] => {
  const names = tableNames(sql);
  return lines
    .map(({ detail }) => detail)
    .filter((detail) => {
      const [, how, name = ""] = /^(SCAN|SEARCH) (\w+)/.exec(detail) ?? [];
      // By the least word that it tells.
      if (name === "job_terms_known") return !/VIRTUAL TABLE INDEX 513:/.test(detail);
      if (name === "job_terms") return !/VIRTUAL TABLE INDEX \d+:(?:M|=)/.test(detail);
      return names.has(name) && (how === "SCAN" || !IS_BOUNDED.test(detail));
    });
};

/** What reads more than a tenant's entries of an index, and why it may. */
const KNOWN: readonly (readonly [sql: RegExp, why: string])[] = [
  [/^SELECT \* FROM tenants ORDER BY/, "the operator lists all tenants"],
  [/FROM tenants AS t WHERE away IS NULL|^SELECT count\(\*\) AS \w+ FROM tenants /, "the metrics of all tenants"],
  [/^SELECT tenant, jurisdiction FROM tenants WHERE wake_at </, "the cron looks at a row of each tenant, not at jobs"],
  [
    /^SELECT tenant, (?:keep_(?:texts_)?days AS days|COALESCE\(packed_until, 0\) AS "from") FROM tenants /,
    "the same, and one index entry of the oldest job",
  ],
  [
    /^SELECT tenant, id FROM catalog_subscriptions WHERE next_sync_at <=/,
    "by an index of what is due, as many as a pass takes",
  ],
  [/^DELETE FROM (?:catalog_history|schedule_runs) WHERE rowid IN/, "by an index of age, as many as a step deletes"],
];
const isKnown = ({ sql }: Plan): boolean => KNOWN.some(([pattern]) => pattern.test(sql));

/** The plans that read more than they may. */
export const faultsIn = (plans: readonly Plan[]): string[] =>
  plans.filter((plan) => !isKnown(plan)).flatMap((plan) => unbounded(plan).map((line) => `${line} in: ${plan.sql}`));
