// Fetches a provider's whole model list, or fails: it never drops a page, and accepts only a well-formed list. Every
// limit counts over all pages together. Failures use our own words: a provider's words are not repeated, because they
// may contain anything that was sent to it.

import { parseJson } from "../../contract/text/json-object.ts";
import {
  type ListedModel,
  nextPage,
  normaliseRow,
  type ProviderAuth,
  type ProviderDefinition,
  readRows,
} from "../../domain/catalog/catalog.ts";
import { readBody } from "./bounded-body.ts";
import { askedWaitMs, explainStatus } from "./provider-status.ts";
import { checkUrl, isKeyAddress, keyHosts, withoutQuery } from "./url-policy.ts";
import type { VaultConnector, VaultOutcome } from "./vault/connector.ts";
import { deadline, discardBody, orAborted } from "./when-aborted.ts";

export type ListBudget = { timeoutMs: number; maxBytes: number; maxRows: number; maxPages: number };

export const LIST_BUDGET: ListBudget = {
  timeoutMs: 30_000,
  maxBytes: 5 * 1024 * 1024,
  maxRows: 5_000,
  maxPages: 50,
};

/** `isRetryable`: a later try may succeed without a change. `retryAfterMs` is what the provider asked for, or 0. */
export type ListFailure = { detail: string; isRetryable: boolean; retryAfterMs: number };
export type Listing = { ok: true; models: Map<string, ListedModel> } | { ok: false; failure: ListFailure };

type Page = { ok: true; body: unknown; byteCount: number } | { ok: false; failure: ListFailure };

export const listModels = async (
  connector: VaultConnector,
  provider: ProviderDefinition,
  syncUrl: string | null,
  budget: ListBudget = LIST_BUDGET,
): Promise<Listing> => {
  const address = syncUrl ?? provider.list_url;
  const problem = checkUrl(address, provider.local);
  if (problem !== null) return failed(`the address of the list ${problem}`, false);
  const { signal, clear } = deadline(budget.timeoutMs);
  try {
    return await listPages(connector, provider, address, budget, signal);
  } finally {
    clear();
  }
};

const listPages = async (
  connector: VaultConnector,
  provider: ProviderDefinition,
  address: string,
  budget: ListBudget,
  signal: AbortSignal,
): Promise<Listing> => {
  const models = new Map<string, ListedModel>();
  const cursors = new Set<string>();
  const url = new URL(address);
  let bytesLeft = budget.maxBytes;
  let rowCount = 0;
  for (let pageCount = 1; pageCount <= budget.maxPages; pageCount++) {
    const page = await fetchPage(connector, provider, url, bytesLeft, signal);
    if (!page.ok) return page;
    bytesLeft -= page.byteCount;
    const reading = readRows(page.body, provider.response_path);
    if (!reading.ok) return failed(reading.reason, true);
    rowCount += reading.rows.length;
    if (rowCount > budget.maxRows) return failed(`the list has more than ${budget.maxRows} models`, false);
    addModels(models, reading.rows, provider);
    const next = nextPage(page.body, provider.pagination);
    if (next.kind === "broken") return failed(next.reason, true);
    if (next.kind === "end") return listingOf(models, rowCount);
    if (cursors.has(next.cursor)) return failed("the list's pages form a loop", true);
    cursors.add(next.cursor);
    url.searchParams.set(provider.pagination?.cursor_param ?? "", next.cursor);
  }
  return failed(`the list has more than ${budget.maxPages} pages`, false);
};

const addModels = (models: Map<string, ListedModel>, rows: readonly unknown[], provider: ProviderDefinition): void => {
  for (const row of rows) {
    const model = normaliseRow(row, provider);
    if (model !== null && !models.has(model.id)) models.set(model.id, model);
  }
};

/** If no row names a model, the format is different; that is no reason to remove every model. */
const listingOf = (models: Map<string, ListedModel>, rowCount: number): Listing => {
  if (rowCount > 0 && models.size === 0) return failed("no row of the list names a model", true);
  return { ok: true, models };
};

const fetchPage = async (
  connector: VaultConnector,
  provider: ProviderDefinition,
  url: URL,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Page> => {
  const answer = request(connector, provider, url, signal);
  const outcome = await orAborted(answer, signal, (late) => late.ok && discardBody(late.response));
  if (outcome === "aborted") return failed(`${withoutQuery(url)} did not answer in time`, true);
  if (!outcome.ok) {
    return failed(outcome.detail, outcome.code === "network" || outcome.code === "secret_unavailable");
  }
  const { response, isKeyed } = outcome;
  const complaint = explainStatus(response.status, provider, isKeyed);
  if (complaint !== null) {
    discardBody(response);
    return failed(complaint.detail, complaint.isRetryable, askedWaitMs(response.headers));
  }
  const reading = await readBody(response, maxBytes, signal);
  if (!reading.ok) return failed(reading.reason, true);
  if (outcome.holdsKey(reading.text)) return failed("the answer repeats the provider's key", false);
  const body = parseJson(reading.text);
  if (body === undefined) return failed("the answer is not JSON", true);
  return { ok: true, body, byteCount: reading.byteCount };
};

/** A local runtime's key is optional, because most ask for none. */
const request = async (
  connector: VaultConnector,
  provider: ProviderDefinition,
  url: URL,
  signal: AbortSignal,
): Promise<VaultOutcome> => {
  const isOwn = isKeyAddress(url, provider);
  const headers = new Headers({ accept: "application/json" });
  if (isOwn) for (const [name, value] of Object.entries(provider.extra_headers ?? {})) headers.set(name, value);
  const send = (auth: ProviderAuth | null) => {
    const message = new Request(url, { method: provider.method, headers, redirect: "manual", signal });
    return connector.fetch(message, auth, keyHosts(provider));
  };
  const auth = isOwn ? (provider.auth ?? null) : null;
  const outcome = await send(auth);
  if (!outcome.ok && outcome.code === "secret_missing" && provider.local) return send(null);
  return outcome;
};

const failed = (detail: string, isRetryable: boolean, retryAfterMs = 0): { ok: false; failure: ListFailure } => ({
  ok: false,
  failure: { detail, isRetryable, retryAfterMs },
});
