// A maintained public price table, the last source before "unknown": its prices are estimates. Invariant: answers like
// @pydantic/genai-prices (a test compares them), except that a model listed without token prices is unknown, never
// free.

import type { ModelPrice } from "../domain/catalog/catalog-price.ts";
import { isLocalProvider } from "../domain/fleet/local-runtime.ts";
import type { Usage } from "../domain/job/job.ts";
import { priceFromUsd } from "../domain/money/price.ts";
import priceData from "./price-data.json" with { type: "json" };
import type { Condition, ListedModel, Match, NamedProvider, PriceData, Rate, Rates, Word } from "./provider-prices.ts";

const { providers: PROVIDERS, models: MODELS, rates: RATES }: PriceData = priceData;

const modelsById = new Map<string, readonly ListedModel[]>();
/** What was found last, because each job asks for each provider that could run it; all of it goes when it is full. */
const foundByName = new Map<string, ListedModel | undefined>();
const MAX_FOUND = 1_000;

/** The price of a request at an instant, by the table; the tier follows from the usage. */
export const tablePrice = (provider: string, model: string, usage: Usage | null, at: number): ModelPrice | null => {
  const found = findOnce(provider.toLowerCase().trim(), model.toLowerCase().trim());
  const rates = found === undefined ? undefined : ratesAt(found, at);
  return rates === undefined ? null : priceOf(rates, usage?.inputTokens ?? 0);
};

const findOnce = (provider: string, model: string): ListedModel | undefined => {
  const name = JSON.stringify([provider, model]);
  if (foundByName.has(name)) return foundByName.get(name);
  const listed = isLocalProvider(provider) ? undefined : findListed(provider);
  const found = listed === undefined ? undefined : findModel(listed, model);
  if (foundByName.size >= MAX_FOUND) foundByName.clear();
  foundByName.set(name, found);
  return found;
};

const findListed = (provider: string): NamedProvider | undefined =>
  PROVIDERS.find(({ id }) => id === provider) ??
  PROVIDERS.find(({ match }) => match !== null && fits(JSON.parse(match) as Match, provider));

const findModel = (provider: NamedProvider, model: string): ListedModel | undefined =>
  findExactly(provider, model) ?? findExactly(provider, withDashedDate(model));

/** The provider's own models first, then those of the providers whose models it resells. */
const findExactly = (provider: NamedProvider, model: string): ListedModel | undefined => {
  const own = modelsOf(provider).find(([match]) => fits(match, model));
  if (own !== undefined) return own;
  for (const id of provider.fallbacks) {
    const resold = PROVIDERS.find((other) => other.id === id);
    const found = resold && modelsOf(resold).find(([match]) => fits(match, model));
    if (found !== undefined) return found;
  }
  return undefined;
};

const modelsOf = (provider: NamedProvider): readonly ListedModel[] => {
  const known = modelsById.get(provider.id);
  if (known !== undefined) return known;
  const at = PROVIDERS.indexOf(provider);
  const models = (MODELS[at] ?? []).map((words, index) => readModel(words, RATES[at]?.[index] ?? ""));
  modelsById.set(provider.id, models);
  return models;
};

export const readModel = (words: string, rates: string): ListedModel => [
  words.split(" ").map((word) => (word.includes("&") ? word.split("&") : word)),
  ...(JSON.parse(`[${rates}]`) as Rates[]),
];

export const fits = (match: Match, name: string): boolean =>
  match.some((one) => (typeof one === "string" ? fitsWord(one, name) : one.every((word) => fitsWord(word, name))));

const fitsWord = (word: Word, name: string): boolean => {
  const text = word.slice(1);
  switch (word[0]) {
    case "=":
      return name === text;
    case "^":
      return name.startsWith(text);
    case "$":
      return name.endsWith(text);
    case "*":
      return name.includes(text);
    default:
      return new RegExp(text).test(name);
  }
};

/** claude-sonnet-4-20250514 is listed with its date, gpt-4o-20240806 as gpt-4o-2024-08-06. */
const withDashedDate = (model: string): string =>
  model.replace(/-(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)/g, "-$1-$2-$3");

const ratesAt = ([, ...prices]: ListedModel, at: number): Rates | undefined =>
  prices.findLast(([, , , , condition]) => holdsAt(condition, at)) ?? prices[0];

const holdsAt = ({ start_date, start_time, end_time }: Condition = {}, at: number): boolean => {
  if (start_date !== undefined) return at >= Date.parse(start_date);
  if (start_time === undefined || end_time === undefined) return true;
  const time = new Date(at).toISOString().slice(11, 19);
  const [start, end] = [start_time.slice(0, 8), end_time.slice(0, 8)];
  return time >= start && time < end;
};

const priceOf = ([input, output, cached, requests]: Rates, inputTokens: number): ModelPrice | null => {
  // Shortened rates lack what is missing, others have null there.
  if (input == null) return null;
  return priceFromUsd({
    inputPerMtok: rateFor(input, inputTokens),
    outputPerMtok: rateFor(output ?? 0, inputTokens),
    cachedInputPerMtok: cached == null ? undefined : rateFor(cached, inputTokens),
    perRequest: requests == null ? undefined : requests / 1000,
  });
};

const rateFor = (rate: Rate, inputTokens: number): number => {
  if (typeof rate === "number") return rate;
  const [base, ...tiers] = rate;
  return tiers.findLast(([start]) => inputTokens > start)?.[1] ?? base;
};
