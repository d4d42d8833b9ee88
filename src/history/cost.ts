// Cost by period, provider and model, read from hourly sums, so a month takes a few hundred rows.

import {
  type BudgetStates,
  type CostByGroup,
  type CostByProvider,
  type CostQuery,
  type CostSummary,
  MAX_COST_ROWS,
  MAX_COST_SERIES,
} from "../../contract/cost.ts";
import { fromIso, toIso } from "../../contract/words/field.ts";
import { calendarSpan, type Span, spanOf } from "../../domain/money/period.ts";
import { usdFromNano } from "../../domain/money/price.ts";
import { difference, mostFirst, NOTHING, presentSums, SUM_COLUMNS, type Sums, total } from "./cost-sums.ts";
import { readHistory } from "./store.ts";

const IS_IN_SPAN = "tenant = ?1 AND hour_at >= ?2 AND hour_at < ?3";

const PLACES = Array.from({ length: MAX_COST_SERIES }, (_, index) => `?${index + 6}`).join(", ");

/** Only the values after ?5; ?5 is their dimension. */
const spentBySlot = (column: string, table: string, where: string): string =>
  `SELECT hour_at - hour_at % ?4 AS slot_at, ${column} AS value, SUM(nano_usd) AS nano_usd FROM ${table}
    WHERE ${where} AND ${column} IN (${PLACES})
    GROUP BY slot_at, ${column}`;

export const costQueries = {
  bySlot: `SELECT hour_at - hour_at % ?4 AS slot_at, ${SUM_COLUMNS} FROM cost_hours
    WHERE ${IS_IN_SPAN} GROUP BY slot_at`,
  total: `SELECT SUM(nano_usd) AS nano_usd FROM cost_hours WHERE ${IS_IN_SPAN}`,
  byModel: `SELECT provider, model, ${SUM_COLUMNS} FROM cost_hours
    WHERE ${IS_IN_SPAN} GROUP BY provider, model`,
  providerBySlot: spentBySlot("provider", "cost_hours", IS_IN_SPAN),
  modelBySlot: spentBySlot("model", "cost_hours", IS_IN_SPAN),
  groupBySlot: spentBySlot("value", "cost_by_hours", `name = ?5 AND ${IS_IN_SPAN}`),
  groupedBySlot: `SELECT hour_at - hour_at % ?4 AS slot_at, SUM(nano_usd) AS nano_usd FROM cost_by_hours
    WHERE name = ?5 AND ${IS_IN_SPAN} GROUP BY slot_at`,
  /** The most expensive: of metadata, each job may have a value of its own. */
  byGroup: `SELECT value, ${SUM_COLUMNS}, COUNT(*) OVER () AS groups FROM cost_by_hours
    WHERE name = ?4 AND ${IS_IN_SPAN} GROUP BY value ORDER BY nano_usd DESC, jobs DESC LIMIT ${MAX_COST_ROWS}`,
  grouped: `SELECT ${SUM_COLUMNS} FROM cost_by_hours WHERE name = ?4 AND ${IS_IN_SPAN}`,
} as const;

const spanAsked = ({ period, from, to }: CostQuery, nowAt: number): Span => {
  if (from !== undefined) return spanOf(fromIso(from), to === undefined ? nowAt : fromIso(to));
  return calendarSpan(period ?? "day", nowAt);
};

const boundsOf = (query: CostQuery, { fromAt, toAt }: Span) => ({
  period: query.from === undefined ? (query.period ?? "day") : null,
  from: toIso(fromAt),
  to: toIso(toAt),
});

const overallOf = (sums: Sums, previousNanoUsd: number) => {
  const { usd, ...counted } = presentSums(sums);
  return { total_usd: usd, ...counted, previous_total_usd: usdFromNano(previousNanoUsd) };
};

/** The rows of a query within a span, and the cost of the span before. */
const readSpan = async <Row>(
  db: D1Database,
  tenant: string,
  { fromAt, toAt, previous }: Span,
  query: string,
  ...more: readonly (string | number)[]
): Promise<{ rows: Row[]; previousNanoUsd: number }> => {
  const [found, before] = await db.batch<unknown>([
    db.prepare(query).bind(tenant, fromAt, toAt, ...more),
    db.prepare(costQueries.total).bind(tenant, previous.fromAt, previous.toAt),
  ]);
  const previousNanoUsd = (before?.results[0] as { nano_usd: number | null } | undefined)?.nano_usd ?? 0;
  return { rows: (found?.results ?? []) as Row[], previousNanoUsd };
};

export const costSummary = (
  db: D1Database,
  tenant: string,
  query: CostQuery,
  nowAt: number,
): Promise<Omit<CostSummary, keyof BudgetStates>> =>
  readHistory(async () => {
    const span = spanAsked(query, nowAt);
    type Slot = Sums & { readonly slot_at: number };
    const { rows, previousNanoUsd } = await readSpan<Slot>(db, tenant, span, costQueries.bySlot, span.slotMs);
    const bySlot = new Map(rows.map((row) => [row.slot_at, row]));
    return {
      ...boundsOf(query, span),
      ...overallOf(total(rows), previousNanoUsd),
      series: span.slots.map((at) => {
        const slot = bySlot.get(at) ?? NOTHING;
        return { at: toIso(at), usd: usdFromNano(slot.nano_usd), jobs: slot.jobs };
      }),
    };
  });

type ModelSums = Sums & { readonly provider: string; readonly model: string };

export const costByProvider = (
  db: D1Database,
  tenant: string,
  query: CostQuery,
  nowAt: number,
): Promise<Omit<CostByProvider, keyof BudgetStates>> =>
  readHistory(async () => {
    const span = spanAsked(query, nowAt);
    const { rows, previousNanoUsd } = await readSpan<ModelSums>(db, tenant, span, costQueries.byModel);
    const { usage: _usage, ...overall } = overallOf(total(rows), previousNanoUsd);
    const providers = [...Map.groupBy(rows, (row) => row.provider)]
      .map(([provider, models]) => ({ provider, models, sums: total(models) }))
      .sort((one, other) => mostFirst(one.sums, other.sums));
    return {
      ...boundsOf(query, span),
      ...overall,
      providers: providers.map(({ provider, models, sums }) => ({
        provider,
        ...presentSums(sums),
        models: models.sort(mostFirst).map((row) => {
          const { unpriced_jobs: _unpriced, ...told } = presentSums(row);
          return { model: row.model === "" ? null : row.model, ...told };
        }),
      })),
    };
  });

/** `value` null: the jobs that have none. */
type GroupSums = Sums & { readonly value: string | null };

/** Stored for what has none, except for metadata: of these only existing pairs are stored, and their text may be empty. */
const NONE = "";
const isMetadata = (by: string): boolean => by.startsWith("metadata.");

/** By the provider and model that ran the attempts, or by another dimension. */
export const costByGroup = (
  db: D1Database,
  tenant: string,
  by: string,
  query: CostQuery,
  nowAt: number,
): Promise<Omit<CostByGroup, keyof BudgetStates>> =>
  readHistory(async () => {
    const span = spanAsked(query, nowAt);
    const [{ rows: models, previousNanoUsd }, groups] = await Promise.all([
      readSpan<ModelSums>(db, tenant, span, costQueries.byModel),
      by === "provider" || by === "model" ? null : readGroups(db, tenant, by, span),
    ]);
    const overall = total(models);
    const sums = groups?.rows ?? groupedBy(models, by === "provider" ? "provider" : "model");
    const all = isMetadata(by)
      ? [...sums, { value: null, ...difference(overall, groups?.sums ?? NOTHING) }]
      : sums.map((row) => (row.value === NONE ? { ...row, value: null } : row));
    const rows = all.filter((row) => row.value !== null || row.jobs > 0 || row.nano_usd > 0).sort(mostFirst);
    const dearest = rows.slice(0, MAX_COST_SERIES).map(({ value }) => value);
    return {
      ...boundsOf(query, span),
      by,
      ...overallOf(overall, previousNanoUsd),
      rows: rows.slice(0, MAX_COST_ROWS).map((row) => ({ value: row.value, ...presentSums(row) })),
      rows_total: rows.length + (groups?.further ?? 0),
      series: await seriesOf(db, tenant, by, span, dearest),
      adds_up: by !== "tag",
    };
  });

interface Groups {
  readonly rows: readonly GroupSums[];
  /** How many there are beside these. */
  readonly further: number;
  /** Of all. */
  readonly sums: Sums;
}

const readGroups = async (db: D1Database, tenant: string, by: string, span: Span): Promise<Groups> => {
  const [found, whole] = await db.batch<unknown>(
    [costQueries.byGroup, costQueries.grouped].map((sql) => db.prepare(sql).bind(tenant, span.fromAt, span.toAt, by)),
  );
  const rows = (found?.results ?? []) as (GroupSums & { readonly groups: number })[];
  const [sums] = (whole?.results ?? []) as Record<keyof Sums, number | null>[];
  return { rows, further: (rows[0]?.groups ?? 0) - rows.length, sums: sums?.jobs == null ? NOTHING : (sums as Sums) };
};

interface Spent {
  readonly slot_at: number;
  readonly value: string | null;
  readonly nano_usd: number;
}

const seriesOf = async (
  db: D1Database,
  tenant: string,
  by: string,
  span: Span,
  values: readonly (string | null)[],
): Promise<CostByGroup["series"]> => {
  const { fromAt, toAt, slots, slotMs } = span;
  const query = by === "provider" ? "providerBySlot" : by === "model" ? "modelBySlot" : "groupBySlot";
  const none = isMetadata(by) ? null : NONE;
  const places = Array.from({ length: MAX_COST_SERIES }, (_, index) =>
    index < values.length ? (values[index] ?? none) : null,
  );
  const { results } = await db
    .prepare(costQueries[query])
    .bind(tenant, fromAt, toAt, slotMs, by, ...places)
    .all<Spent>();
  const others = isMetadata(by) && values.includes(null) ? await spentByOthers(db, tenant, by, span) : [];
  const bySlot = Map.groupBy([...results, ...others], (row) => row.slot_at);
  const rowsAt = (at: number) =>
    (bySlot.get(at) ?? [])
      .filter(({ nano_usd }) => nano_usd > 0)
      .map(({ value, nano_usd }) => ({ value: value === none ? null : value, usd: usdFromNano(nano_usd) }));
  return slots.map((at) => ({ at: toIso(at), rows: rowsAt(at) }));
};

/** What jobs without the metadata cost: the whole without that of the jobs that have it. */
const spentByOthers = async (
  db: D1Database,
  tenant: string,
  by: string,
  { fromAt, toAt, slotMs }: Span,
): Promise<Spent[]> => {
  const [whole, grouped] = await db.batch<Spent>([
    db.prepare(costQueries.bySlot).bind(tenant, fromAt, toAt, slotMs),
    db.prepare(costQueries.groupedBySlot).bind(tenant, fromAt, toAt, slotMs, by),
  ]);
  const theirs = new Map((grouped?.results ?? []).map((row) => [row.slot_at, row.nano_usd]));
  return (whole?.results ?? []).map(({ slot_at, nano_usd }) => ({
    slot_at,
    value: null,
    nano_usd: nano_usd - (theirs.get(slot_at) ?? 0),
  }));
};

const groupedBy = (rows: readonly ModelSums[], by: "provider" | "model"): GroupSums[] =>
  [...Map.groupBy(rows, (row) => row[by])].map(([value, same]) => ({ value, ...total(same) }));
