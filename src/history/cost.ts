// Cost by period, provider and model, read from hourly sums, so a month takes a few hundred rows. Workers name providers and
// models, and clients metadata, so that each job may have one of its own: what is read has a bound, and the totals count all.

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
import { difference, isNothing, mostFirst, NOTHING, presentSums, SUM_COLUMNS, type Sums, total } from "./cost-sums.ts";
import { readHistory } from "./store.ts";
import type { TenantHistory } from "./tenant-history.ts";

const IS_IN_SPAN = "tenant = ?1 AND hour_at >= ?2 AND hour_at < ?3";

const PLACES = Array.from({ length: MAX_COST_SERIES }, (_, index) => `?${index + 6}`).join(", ");

/** Only the values after ?5; ?5 is their dimension. */
const spentBySlot = (column: string, table: string, where: string): string =>
  `SELECT hour_at - hour_at % ?4 AS slot_at, ${column} AS value, SUM(nano_usd) AS nano_usd FROM ${table}
    WHERE ${where} AND ${column} IN (${PLACES})
    GROUP BY slot_at, ${column}`;

/** The most expensive groups, and how many there are. */
const dearest = (columns: string, table: string, where: string, groups: string): string =>
  `SELECT ${columns}, ${SUM_COLUMNS}, COUNT(*) OVER () AS groups FROM ${table}
    WHERE ${where} GROUP BY ${groups} ORDER BY nano_usd DESC, jobs DESC LIMIT ${MAX_COST_ROWS}`;

export const costQueries = {
  bySlot: `SELECT hour_at - hour_at % ?4 AS slot_at, ${SUM_COLUMNS} FROM cost_hours
    WHERE ${IS_IN_SPAN} GROUP BY slot_at`,
  whole: `SELECT ${SUM_COLUMNS} FROM cost_hours WHERE ${IS_IN_SPAN}`,
  byProviderAndModel: dearest("provider, model", "cost_hours", IS_IN_SPAN, "provider, model"),
  byProvider: dearest("provider AS value", "cost_hours", IS_IN_SPAN, "provider"),
  byModel: dearest("model AS value", "cost_hours", IS_IN_SPAN, "model"),
  providerBySlot: spentBySlot("provider", "cost_hours", IS_IN_SPAN),
  modelBySlot: spentBySlot("model", "cost_hours", IS_IN_SPAN),
  groupBySlot: spentBySlot("value", "cost_by_hours", `name = ?5 AND ${IS_IN_SPAN}`),
  groupedBySlot: `SELECT hour_at - hour_at % ?4 AS slot_at, SUM(nano_usd) AS nano_usd FROM cost_by_hours
    WHERE name = ?5 AND ${IS_IN_SPAN} GROUP BY slot_at`,
  byGroup: dearest("value", "cost_by_hours", `name = ?4 AND ${IS_IN_SPAN}`, "value"),
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

/** A sum over nothing has no numbers. */
const sumsIn = (rows: unknown[] = []): Sums => {
  const [sums] = rows as Record<keyof Sums, number | null>[];
  return sums?.jobs == null ? NOTHING : (sums as Sums);
};

const overallOf = (sums: Sums, before: unknown[] | undefined) => {
  const { usd, ...counted } = presentSums(sums);
  return { total_usd: usd, ...counted, previous_total_usd: presentSums(sumsIn(before)).usd };
};

/** A query within a span, with what it is bound to beside. */
type Query = readonly [sql: string, ...more: (string | number)[]];

/** The sums of the span before, and the rows of each query; of one instant, so that parts are those of their whole. */
const readSpan = async (
  history: TenantHistory,
  { fromAt, toAt, previous }: Span,
  ...queries: readonly Query[]
): Promise<unknown[][]> => {
  const found = await history.db.batch<unknown>([
    history.statement(costQueries.whole, previous.fromAt, previous.toAt),
    ...queries.map(([sql, ...more]) => history.statement(sql, fromAt, toAt, ...more)),
  ]);
  return found.map(({ results }) => results);
};

export const costSummary = (
  history: TenantHistory,
  query: CostQuery,
  nowAt: number,
): Promise<Omit<CostSummary, keyof BudgetStates>> =>
  readHistory(async () => {
    const span = spanAsked(query, nowAt);
    type Slot = Sums & { readonly slot_at: number };
    const [before, found = []] = await readSpan(history, span, [costQueries.bySlot, span.slotMs]);
    const rows = found as Slot[];
    const bySlot = new Map(rows.map((row) => [row.slot_at, row]));
    return {
      ...boundsOf(query, span),
      ...overallOf(total(rows), before),
      series: span.slots.map((at) => {
        const slot = bySlot.get(at) ?? NOTHING;
        return { at: toIso(at), usd: usdFromNano(slot.nano_usd), jobs: slot.jobs };
      }),
    };
  });

type ModelSums = Sums & { readonly provider: string; readonly model: string };

export const costByProvider = (
  history: TenantHistory,
  query: CostQuery,
  nowAt: number,
): Promise<Omit<CostByProvider, keyof BudgetStates>> =>
  readHistory(async () => {
    const span = spanAsked(query, nowAt);
    const { whole, byProvider, byProviderAndModel } = costQueries;
    const found = await readSpan(history, span, [whole], [byProvider], [byProviderAndModel]);
    const [before, sums, rows = [], ofModels = []] = found;
    const { usage: _usage, ...overall } = overallOf(sumsIn(sums), before);
    const models = Map.groupBy(ofModels as ModelSums[], (row) => row.provider);
    return {
      ...boundsOf(query, span),
      ...overall,
      providers: (rows as (Sums & { readonly value: string })[]).map(({ value: provider, ...sums }) => ({
        provider,
        ...presentSums(sums),
        models: (models.get(provider) ?? []).map((row) => {
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
  history: TenantHistory,
  by: string,
  query: CostQuery,
  nowAt: number,
): Promise<Omit<CostByGroup, keyof BudgetStates>> =>
  readHistory(async () => {
    const span = spanAsked(query, nowAt);
    const read = await readSpan(history, span, [costQueries.whole], ...groupQueries(by));
    const [before, whole, found = [], grouped] = read;
    const overall = sumsIn(whole);
    const groups = found as (GroupSums & { readonly groups: number })[];
    const all = isMetadata(by)
      ? [...groups, { value: null, ...difference(overall, sumsIn(grouped)) }]
      : groups.map((row) => (row.value === NONE ? { ...row, value: null } : row));
    const rows = all.filter((row) => row.value !== null || !isNothing(row)).sort(mostFirst);
    const dearest = rows.slice(0, MAX_COST_SERIES).map(({ value }) => value);
    return {
      ...boundsOf(query, span),
      by,
      ...overallOf(overall, before),
      rows: rows.slice(0, MAX_COST_ROWS).map((row) => ({ value: row.value, ...presentSums(row) })),
      rows_total: rows.length + (groups[0]?.groups ?? 0) - groups.length,
      series: await seriesOf(history, by, span, dearest),
      adds_up: by !== "tag",
    };
  });

/** The most expensive groups, and the sums of all where some jobs are in none. */
const groupQueries = (by: string): Query[] => {
  if (by === "provider") return [[costQueries.byProvider]];
  if (by === "model") return [[costQueries.byModel]];
  return [
    [costQueries.byGroup, by],
    [costQueries.grouped, by],
  ];
};

interface Spent {
  readonly slot_at: number;
  readonly value: string | null;
  readonly nano_usd: number;
}

const seriesOf = async (
  history: TenantHistory,
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
  const { results } = await history.statement(costQueries[query], fromAt, toAt, slotMs, by, ...places).all<Spent>();
  const others = isMetadata(by) && values.includes(null) ? await spentByOthers(history, by, span) : [];
  const bySlot = Map.groupBy([...results, ...others], (row) => row.slot_at);
  const rowsAt = (at: number) =>
    (bySlot.get(at) ?? [])
      .filter(({ nano_usd }) => nano_usd > 0)
      .map(({ value, nano_usd }) => ({ value: value === none ? null : value, usd: usdFromNano(nano_usd) }));
  return slots.map((at) => ({ at: toIso(at), rows: rowsAt(at) }));
};

/** What jobs without the metadata cost: the whole without that of the jobs that have it. */
const spentByOthers = async (history: TenantHistory, by: string, { fromAt, toAt, slotMs }: Span): Promise<Spent[]> => {
  const [whole, grouped] = await history.db.batch<Spent>([
    history.statement(costQueries.bySlot, fromAt, toAt, slotMs),
    history.statement(costQueries.groupedBySlot, fromAt, toAt, slotMs, by),
  ]);
  const theirs = new Map((grouped?.results ?? []).map((row) => [row.slot_at, row.nano_usd]));
  return (whole?.results ?? []).map(({ slot_at, nano_usd }) => ({
    slot_at,
    value: null,
    nano_usd: nano_usd - (theirs.get(slot_at) ?? 0),
  }));
};
