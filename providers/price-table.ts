// A maintained public price table, the last source before "unknown": its prices are estimates. Invariant: answers like
// @pydantic/genai-prices (a test compares them), except that a model listed without token prices is unknown, never
// free.

import type { ModelPrice } from "../domain/catalog-price.ts";
import type { Usage } from "../domain/job.ts";
import { isLocalProvider } from "../domain/local-runtime.ts";
import { priceFromUsd } from "../domain/price.ts";
import { PRICE_DATA } from "./price-data.ts";
import type { ProviderPrices } from "./provider-prices.ts";

type Match =
  | { readonly or: readonly Match[] }
  | { readonly and: readonly Match[] }
  | { readonly equals: string }
  | { readonly starts_with: string }
  | { readonly ends_with: string }
  | { readonly contains: string }
  | { readonly regex: string };

/** A rate, or one that depends on how many input tokens a request has. */
type Rate =
  | number
  | { readonly base: number; readonly tiers: readonly { readonly start: number; readonly price: number }[] };

interface Rates {
  readonly type?: "start_date" | "time_of_date";
  readonly start_date?: string;
  /** For example 16:30:00Z, in UTC; no range in the table spans midnight. */
  readonly start_time?: string;
  readonly end_time?: string;
  readonly input?: Rate;
  readonly output?: Rate;
  readonly cached?: Rate;
  readonly requests?: number;
}

interface ListedModel {
  readonly match: Match;
  /** Later entries take precedence over earlier ones. */
  readonly prices: readonly Rates[];
}

const modelsById = new Map<string, readonly ListedModel[]>();

/** The price of a request at an instant, by the table; the tier follows from the usage. */
export const tablePrice = (provider: string, model: string, usage: Usage | null, at: number): ModelPrice | null => {
  const name = provider.toLowerCase().trim();
  const listed = isLocalProvider(name) ? undefined : findListed(name);
  if (listed === undefined) return null;
  const found = findModel(listed, model.toLowerCase().trim());
  const rates = found === undefined ? undefined : ratesAt(found.prices, at);
  return rates === undefined ? null : priceOf(rates, usage?.inputTokens ?? 0);
};

const findListed = (provider: string): ProviderPrices | undefined =>
  PRICE_DATA.find(({ id }) => id === provider) ??
  PRICE_DATA.find(({ match }) => match !== null && fits(JSON.parse(match) as Match, provider));

const findModel = (provider: ProviderPrices, model: string): ListedModel | undefined =>
  findExactly(provider, model) ?? findExactly(provider, withDashedDate(model));

/** The provider's own models first, then those of the providers whose models it resells. */
const findExactly = (provider: ProviderPrices, model: string): ListedModel | undefined => {
  const own = modelsOf(provider).find(({ match }) => fits(match, model));
  if (own !== undefined) return own;
  for (const id of provider.fallbacks) {
    const resold = PRICE_DATA.find((other) => other.id === id);
    const found = resold && modelsOf(resold).find(({ match }) => fits(match, model));
    if (found !== undefined) return found;
  }
  return undefined;
};

const modelsOf = (provider: ProviderPrices): readonly ListedModel[] => {
  const known = modelsById.get(provider.id);
  if (known !== undefined) return known;
  const models = provider.models.map((line) => JSON.parse(line) as ListedModel);
  modelsById.set(provider.id, models);
  return models;
};

const fits = (match: Match, text: string): boolean => {
  if ("or" in match) return match.or.some((one) => fits(one, text));
  if ("and" in match) return match.and.every((one) => fits(one, text));
  if ("equals" in match) return text === match.equals.toLowerCase();
  if ("starts_with" in match) return text.startsWith(match.starts_with.toLowerCase());
  if ("ends_with" in match) return text.endsWith(match.ends_with.toLowerCase());
  if ("contains" in match) return text.includes(match.contains.toLowerCase());
  return new RegExp(match.regex).test(text);
};

/** claude-sonnet-4-20250514 is listed with its date, gpt-4o-20240806 as gpt-4o-2024-08-06. */
const withDashedDate = (model: string): string =>
  model.replace(/-(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)/g, "-$1-$2-$3");

const ratesAt = (prices: readonly Rates[], at: number): Rates | undefined =>
  prices.findLast((rates) => holdsAt(rates, at)) ?? prices[0];

const holdsAt = ({ start_date, start_time, end_time }: Rates, at: number): boolean => {
  if (start_date !== undefined) return at >= Date.parse(start_date);
  if (start_time === undefined || end_time === undefined) return true;
  const time = new Date(at).toISOString().slice(11, 19);
  const [start, end] = [start_time.slice(0, 8), end_time.slice(0, 8)];
  return time >= start && time < end;
};

const priceOf = ({ input, output, cached, requests }: Rates, inputTokens: number): ModelPrice | null => {
  if (input === undefined) return null;
  return priceFromUsd({
    inputPerMtok: rateFor(input, inputTokens),
    outputPerMtok: rateFor(output ?? 0, inputTokens),
    cachedInputPerMtok: cached === undefined ? undefined : rateFor(cached, inputTokens),
    perRequest: requests === undefined ? undefined : requests / 1000,
  });
};

const rateFor = (rate: Rate, inputTokens: number): number =>
  typeof rate === "number" ? rate : (rate.tiers.findLast(({ start }) => inputTokens > start)?.price ?? rate.base);
