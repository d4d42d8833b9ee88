// What a provider's model list means: rows become {id, name, context_window}, and two snapshots are compared by id.
// Pure and total: no fetch, no clock, and no answer, however hostile, makes it throw. A list is either understood
// completely or refused; a wrong format never counts as an empty list, because that would remove every model. Only the
// three normalised fields are compared, because the others change constantly.

import type { Api } from "../words/api.ts";
import { ownKey, readPath } from "./catalog-path.ts";
import { type ModelPrice, type ProviderPricing, readPrice } from "./catalog-price.ts";

export type ProviderAuth = { header: string; ref: string };

export const API_DIALECTS = ["openai", "anthropic"] as const;
type ApiDialect = (typeof API_DIALECTS)[number];

/** Where and how the coordinator calls the provider's models itself. */
export type ProviderApi = {
  /** Ends where `/chat/completions` or `/messages` begins. */
  base_url: string;
  dialect: ApiDialect;
  /** Narrows what the dialect offers. */
  apis?: readonly Api[] | undefined;
};

const APIS_OF_DIALECT: Readonly<Record<ApiDialect, readonly Api[]>> = {
  openai: ["chat/completions", "completions", "embeddings", "responses"],
  anthropic: ["messages"],
};

export const apisOf = ({ dialect, apis }: ProviderApi): readonly Api[] =>
  APIS_OF_DIALECT[dialect].filter((api) => apis === undefined || apis.includes(api));

/** One file of providers/catalog, validated; the keys are those of the file. */
export type ProviderDefinition = {
  provider: string;
  list_url: string;
  method: "GET" | "POST";
  local: boolean;
  auth?: ProviderAuth | undefined;
  api?: ProviderApi | undefined;
  key_hosts?: readonly string[] | undefined;
  extra_headers?: Readonly<Record<string, string>> | undefined;
  response_path: string;
  fields: { id: string; name?: string | undefined; context_window?: string | undefined };
  pagination?: { cursor_path: string; cursor_param: string; more_path?: string | undefined } | undefined;
  strip_prefix?: string | undefined;
  pricing?: ProviderPricing | undefined;
};

export type CatalogModel = { id: string; name: string; context_window?: number };

/** A model as a sync stores it. A changed price is a change of its own and does not change the list. */
export type ListedModel = CatalogModel & { price?: ModelPrice };

/** Longer ids are skipped, because no job could name them. */
const MODEL_ID_MAX_CHARACTERS = 128;
const MODEL_NAME_MAX_CHARACTERS = 256;

type RowsReading = { ok: true; rows: readonly unknown[] } | { ok: false; reason: string };

/** The rows of one page. An array or null at the path is a list; anything else is a failure. */
export const readRows = (body: unknown, responsePath: string): RowsReading => {
  const complaint = reportedError(body);
  if (complaint !== null) return { ok: false, reason: complaint };
  const path = responsePath.slice(0, -"[]".length);
  const found = path === "" ? body : readPath(body, path);
  if (found === undefined) return { ok: false, reason: `the answer has nothing at ${responsePath}` };
  if (found === null && path !== "") return { ok: true, rows: [] };
  if (!Array.isArray(found)) return { ok: false, reason: `the answer has no list at ${responsePath}` };
  return { ok: true, rows: found };
};

/** Gateways answer 200 with an error inside. Its text is not repeated, because it may contain anything. */
const reportedError = (body: unknown): string | null => {
  const error = ownKey(body, "error");
  const errors = ownKey(body, "errors");
  const hasError = error !== undefined && error !== null && error !== false && error !== "";
  const hasErrors = Array.isArray(errors) && errors.length > 0;
  return hasError || hasErrors ? "the provider answered with an error inside a successful response" : null;
};

type PageEnd = { kind: "end" } | { kind: "next"; cursor: string } | { kind: "broken"; reason: string };

/** The next page. A list that continues, without pagination configured, is an error, not a short list. */
export const nextPage = (body: unknown, pagination: ProviderDefinition["pagination"]): PageEnd => {
  if (pagination === undefined) {
    if (!saysMore(body)) return { kind: "end" };
    return { kind: "broken", reason: "the list has more pages, and the provider file has no pagination key" };
  }
  const cursor = readPath(body, pagination.cursor_path);
  const isBlank = cursor === undefined || cursor === null || cursor === "";
  const more = pagination.more_path === undefined ? !isBlank : readPath(body, pagination.more_path);
  if (more === false || ((more ?? null) === null && isBlank)) return { kind: "end" };
  if (more !== true) return { kind: "broken", reason: `${pagination.more_path} is neither true nor false` };
  if (typeof cursor === "number" && Number.isFinite(cursor)) return { kind: "next", cursor: String(cursor) };
  if (typeof cursor === "string" && !isBlank) return { kind: "next", cursor };
  return { kind: "broken", reason: `the list has more pages, and ${pagination.cursor_path} names no next one` };
};

const saysMore = (body: unknown): boolean => {
  if (ownKey(body, "has_more") === true) return true;
  return ["nextPageToken", "next_page_token"].some((key) => {
    const token = ownKey(body, key);
    return typeof token === "string" && token !== "";
  });
};

/** Null for a row without a usable model id, which is skipped; of rows with the same id the first counts. */
export const normaliseRow = (row: unknown, config: ProviderDefinition): ListedModel | null => {
  const id = modelId(readPath(row, config.fields.id), config.strip_prefix);
  if (id === null) return null;
  const name = config.fields.name === undefined ? id : modelName(readPath(row, config.fields.name), id);
  const path = config.fields.context_window;
  const contextWindow = path === undefined ? undefined : positiveInteger(readPath(row, path));
  const price = config.pricing === undefined ? undefined : readPrice(row, config.pricing);
  return {
    id,
    name,
    ...(contextWindow === undefined ? {} : { context_window: contextWindow }),
    ...(price === undefined ? {} : { price }),
  };
};

const modelId = (value: unknown, prefix: string | undefined): string | null => {
  const text = typeof value === "number" && Number.isFinite(value) ? String(value) : value;
  if (typeof text !== "string") return null;
  const id = prefix !== undefined && text.startsWith(prefix) ? text.slice(prefix.length) : text;
  return id.length <= MODEL_ID_MAX_CHARACTERS && isCleanText(id) ? id : null;
};

const modelName = (value: unknown, id: string): string => {
  if (typeof value !== "string" || !isCleanText(value)) return id;
  return [...value].slice(0, MODEL_NAME_MAX_CHARACTERS).join("");
};

/** Not blank, and without characters that hide or reorder text: controls, line breaks, direction marks. */
const isCleanText = (text: string): boolean =>
  text.trim() !== "" && text.isWellFormed() && !/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(text);

/** 163840, "163840" and 256000.0 count; providers write 0, null, -1 or NaN for "unknown". */
const positiveInteger = (value: unknown): number | undefined => {
  const number = typeof value === "string" && /^\d{1,16}(\.0+)?$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number > 0 ? number : undefined;
};

export type CatalogChange =
  | { kind: "added"; model_id: string; before: null; after: ListedModel }
  | { kind: "removed"; model_id: string; before: ListedModel; after: null }
  | { kind: "changed"; model_id: string; before: ListedModel; after: ListedModel };

/** The changes from one snapshot to the other, ordered by id, independent of the provider's order. */
export const diffModels = (
  before: ReadonlyMap<string, ListedModel>,
  after: ReadonlyMap<string, ListedModel>,
): CatalogChange[] => {
  const changes: CatalogChange[] = [];
  for (const [id, model] of after) {
    const old = before.get(id);
    if (old === undefined) changes.push({ kind: "added", model_id: id, before: null, after: model });
    else if (!hasSameFacts(old, model)) changes.push({ kind: "changed", model_id: id, before: old, after: model });
  }
  for (const [id, model] of before) {
    if (!after.has(id)) changes.push({ kind: "removed", model_id: id, before: model, after: null });
  }
  return byModel(changes);
};

/** Each model once. */
const byModel = (changes: CatalogChange[]): CatalogChange[] =>
  changes.sort((a, b) => (a.model_id < b.model_id ? -1 : 1));

const hasSameFacts = (a: CatalogModel, b: CatalogModel): boolean =>
  a.name === b.name && a.context_window === b.context_window;

/** Models that are listed as before, with another price; ordered by id. */
export const priceMoves = (
  before: ReadonlyMap<string, ListedModel>,
  after: ReadonlyMap<string, ListedModel>,
): CatalogChange[] => {
  const moves: CatalogChange[] = [];
  for (const [id, model] of after) {
    const old = before.get(id);
    if (old === undefined || !hasSameFacts(old, model) || isSamePrice(old.price, model.price)) continue;
    moves.push({ kind: "changed", model_id: id, before: old, after: model });
  }
  return byModel(moves);
};

const isSamePrice = (a: ModelPrice | undefined, b: ModelPrice | undefined): boolean =>
  a?.input_nano_per_mtok === b?.input_nano_per_mtok &&
  a?.output_nano_per_mtok === b?.output_nano_per_mtok &&
  a?.cached_input_nano_per_mtok === b?.cached_input_nano_per_mtok &&
  a?.request_nano === b?.request_nano;
