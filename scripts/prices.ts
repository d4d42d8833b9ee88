// Writes providers/price-data.json (do not edit it) from @pydantic/genai-prices: only what pricing a text job needs.
// `npm run prices` after updating that package. The whole package in the bundle would cost every cold start about 50 ms;
// this table costs nothing until the first lookup, because a model's line is text until then.

import { readFileSync, writeFileSync } from "node:fs";
import { findProvider, type MatchLogic, type ModelInfo, type ModelPrice, type Provider } from "@pydantic/genai-prices";
import { fits, readModel } from "../providers/price-table.ts";
import type { Condition, Match, NamedProvider, PriceData, Rate, Rates, Word } from "../providers/provider-prices.ts";

const OUTPUT = new URL("../providers/price-data.json", import.meta.url);
const PACKAGE = new URL("../node_modules/@pydantic/genai-prices/package.json", import.meta.url);

/**
 * The package does not list its providers; add new ones here. In the package's order: of two whose names a
 * provider's may match, the first is taken.
 */
const PROVIDERS =
  "anthropic arcee aws baseten cerebras cloudflare cohere google huggingface_cerebras huggingface_fireworks-ai " +
  "huggingface_groq huggingface_hyperbolic huggingface_nebius huggingface_novita huggingface_nscale " +
  "huggingface_ovhcloud huggingface_publicai ovhcloud huggingface_sambanova fireworks groq doubleword " +
  "huggingface_together deepseek openrouter perplexity avian minimax novita azure mistral moonshotai openai zai " +
  "zhipuai together voyageai x-ai cursor";

/** A price key for tokens that a job's usage does not count separately: such a model gets no price. */
const UNTOLD_KEYS = ["output_reasoning_mtok", "output_citation_mtok"];

/** The words and the rates of a model, as the file has them. */
type ModelText = readonly [words: string, rates: string];

/** The content of price-data.json. */
export const priceData = (madeOn: string): PriceData => {
  const { name, version } = JSON.parse(readFileSync(PACKAGE, "utf8")) as { name: string; version: string };
  const providers = PROVIDERS.split(" ").map(providerOf);
  const listed = providers.map(modelsOf);
  return {
    from: `${name} ${version} (MIT)`,
    madeOn,
    providers: providers.map(named),
    models: listed.map((models) => models.map(([words]) => words)),
    rates: listed.map((models) => models.map(([, rates]) => rates)),
  };
};

const providerOf = (id: string): Provider => {
  const provider = findProvider({ providerId: id });
  if (provider === undefined || provider.id !== id) throw new Error(`genai-prices no longer knows ${id}`);
  return provider;
};

const named = ({ id, provider_match, fallback_model_providers = [] }: Provider): NamedProvider => ({
  id,
  match: provider_match === undefined ? null : JSON.stringify(matchOf(provider_match)),
  fallbacks: fallback_model_providers,
});

const modelsOf = ({ models, fallback_model_providers = [] }: Provider): ModelText[] =>
  fallback_model_providers.length > 0 ? models.map(modelText) : withoutUnpriced(models.map(modelText));

/** A model without a price is unknown, as one that is not listed: it counts where it hides another one. */
const withoutUnpriced = (models: readonly ModelText[]): ModelText[] => {
  const listed = models.map(([words, rates]) => readModel(words, rates));
  return models.filter((_, at) => {
    const [match = [], ...rates] = listed[at] ?? [];
    const hides = (word: Word | readonly Word[]) =>
      typeof word !== "string" ||
      !word.startsWith("=") ||
      listed.some(([other], index) => index !== at && fits(other, word.slice(1)));
    return rates.flat().length > 0 || match.some(hides);
  });
};

const modelText = ({ match, prices }: ModelInfo): ModelText => {
  const list = Array.isArray(prices) ? prices : [{ prices }];
  const told = matchOf(match).map((one) => (typeof one === "string" ? one : one.join("&")));
  // In lower case some are the same.
  const words = [...new Set(told)];
  const rates = list.map(({ constraint, prices }) => JSON.stringify(ratesOf(prices, constraint)));
  const text = words.join(" ");
  if (text.split(" ").length !== words.length) throw new Error(`a blank inside a word: ${text}`);
  return [text, rates.join(",")];
};

const matchOf = (match: MatchLogic): Match => ("or" in match ? match.or.map(wordsOf) : [wordsOf(match)]);

const wordsOf = (match: MatchLogic): Word | Word[] => {
  if ("or" in match) throw new Error(`an alternative inside another: ${JSON.stringify(match)}`);
  if ("and" in match) return match.and.flatMap(wordsOf);
  if ("regex" in match) return `~${match.regex}`;
  if ("equals" in match) return `=${match.equals.toLowerCase()}`;
  if ("starts_with" in match) return `^${match.starts_with.toLowerCase()}`;
  if ("ends_with" in match) return `$${match.ends_with.toLowerCase()}`;
  return `*${match.contains.toLowerCase()}`;
};

const ratesOf = (prices: ModelPrice, condition: Condition | undefined): Rates => {
  const isUntold = prices.input_mtok === undefined || UNTOLD_KEYS.some((key) => prices[key] !== undefined);
  const told: ModelPrice = isUntold ? {} : prices;
  const { input_mtok, output_mtok, cache_read_mtok, requests_kcount } = told;
  const when = condition && { ...condition, type: undefined };
  const rates = [...[input_mtok, output_mtok, cache_read_mtok].map(rateOf), requests_kcount ?? null, when ?? null];
  return rates.slice(0, rates.findLastIndex((one) => one !== null) + 1) as unknown as Rates;
};

const rateOf = (rate: ModelPrice["input_mtok"]): Rate | null =>
  typeof rate === "object"
    ? [rate.base, ...rate.tiers.map(({ start, price }) => [start, price] as const)]
    : (rate ?? null);

/** The day stays if nothing else has changed. */
const write = (): void => {
  const before = JSON.parse(readFileSync(OUTPUT, "utf8")) as PriceData;
  const today = new Date().toISOString().slice(0, 10);
  const isSame = JSON.stringify(priceData(before.madeOn)) === JSON.stringify(before);
  const text = JSON.stringify(priceData(isSame ? before.madeOn : today), null, 2);
  writeFileSync(OUTPUT, `${text}\n`);
};

if (import.meta.main) write();
