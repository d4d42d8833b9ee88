// Writes providers/price-data.ts from @pydantic/genai-prices: only what pricing a text job needs. Run it after updating
// that package: node scripts/price-table.ts. The whole package in the bundle would cost every cold start about 50 ms;
// this table costs nothing until the first lookup.

import { readFileSync, writeFileSync } from "node:fs";
import { findProvider, type MatchLogic, type ModelInfo, type ModelPrice, type Provider } from "@pydantic/genai-prices";
import type { Condition, ListedModel, Match, Rates, Word } from "../providers/provider-prices.ts";

const OUTPUT = new URL("../providers/price-data.ts", import.meta.url);
const PACKAGE = new URL("../node_modules/@pydantic/genai-prices/package.json", import.meta.url);

/** The package does not list its providers; add new ones here. */
const PROVIDERS =
  "anthropic arcee avian aws azure baseten cerebras cloudflare cohere cursor deepseek doubleword fireworks google groq " +
  "huggingface_cerebras huggingface_fireworks-ai huggingface_groq huggingface_hyperbolic huggingface_nebius " +
  "huggingface_novita huggingface_nscale huggingface_ovhcloud huggingface_publicai huggingface_sambanova " +
  "huggingface_together minimax mistral moonshotai novita openai openrouter ovhcloud perplexity together voyageai x-ai " +
  "zai zhipuai";

/** A price key for tokens that a job's usage does not count separately: such a model gets no price. */
const UNTOLD_KEYS = ["output_reasoning_mtok", "output_citation_mtok"];

/** The text of price-data.ts. */
export function priceData(): string {
  const { version } = JSON.parse(readFileSync(PACKAGE, "utf8")) as { version: string };
  const blocks = PROVIDERS.split(" ").map((id) => {
    const provider = findProvider({ providerId: id });
    if (provider === undefined || provider.id !== id) throw new Error(`genai-prices no longer knows ${id}`);
    return providerBlock(provider);
  });
  return [
    `// Made by scripts/price-table.ts from @pydantic/genai-prices ${version} (MIT). Do not edit.`,
    "// biome-ignore-all format: a line per model",
    "// A line per model, in the order in which they are tried; US dollars per million tokens or thousand requests.",
    "",
    'import type { ProviderPrices } from "./provider-prices.ts";',
    "",
    `export const PRICE_DATA: readonly ProviderPrices[] = [\n${blocks.join("\n")}\n];`,
    "",
  ].join("\n");
}

function providerBlock(provider: Provider): string {
  const { provider_match } = provider;
  const match = provider_match === undefined ? "null" : quoted(JSON.stringify(matchOf(provider_match)));
  const fallbacks = (provider.fallback_model_providers ?? []).map((id) => JSON.stringify(id)).join(", ");
  const models = provider.models.map((model) => `      ${quoted(JSON.stringify(modelLine(model)))},`);
  return [
    "  {",
    `    id: ${JSON.stringify(provider.id)},`,
    `    match: ${match},`,
    `    fallbacks: [${fallbacks}],`,
    "    models: [",
    ...models,
    "    ],",
    "  },",
  ].join("\n");
}

function modelLine({ match, prices }: ModelInfo): ListedModel {
  const list = Array.isArray(prices) ? prices : [{ prices }];
  return [matchOf(match), ...list.map(({ constraint, prices }) => ratesOf(prices, constraint))];
}

function matchOf(match: MatchLogic): Match {
  return "or" in match ? match.or.map(wordsOf) : [wordsOf(match)];
}

function wordsOf(match: MatchLogic): Word | Word[] {
  if ("or" in match) throw new Error(`an alternative inside another: ${JSON.stringify(match)}`);
  if ("and" in match) return match.and.flatMap(wordsOf);
  if ("regex" in match) return `~${match.regex}`;
  if ("equals" in match) return `=${match.equals.toLowerCase()}`;
  if ("starts_with" in match) return `^${match.starts_with.toLowerCase()}`;
  if ("ends_with" in match) return `$${match.ends_with.toLowerCase()}`;
  return `*${match.contains.toLowerCase()}`;
}

function ratesOf(prices: ModelPrice, condition: Condition | undefined): Rates {
  const isUntold = prices.input_mtok === undefined || UNTOLD_KEYS.some((key) => prices[key] !== undefined);
  const told: ModelPrice = isUntold ? {} : prices;
  const { input_mtok, output_mtok, cache_read_mtok, requests_kcount } = told;
  const rates = [input_mtok, output_mtok, cache_read_mtok, requests_kcount, condition].map((one) => one ?? null);
  return rates.slice(0, rates.findLastIndex((one) => one !== null) + 1) as unknown as Rates;
}

/** In single quotes, which the formatter keeps if double quotes would need more escapes. */
function quoted(json: string): string {
  return `'${json.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

if (import.meta.main) writeFileSync(OUTPUT, priceData());
