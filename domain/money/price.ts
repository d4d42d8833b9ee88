// Prices and money: integer nano-dollars (10⁻⁹ USD); rates are nano-dollars per million tokens. Invariant: decimals are
// read and written digit by digit, never by multiplying floats, so nanoFromUsd(usdFromNano(n)) is n below 2²³ dollars;
// above that a JSON number cannot hold nano-dollars.

import { type ModelPrice, scaledInteger } from "../catalog/catalog-price.ts";

export const NANO_EXPONENT = 9;
const NANO_PER_USD = 1_000_000_000;

/** A price in the config, in US dollars. A missing rate is 0 if any other is given. */
export interface PriceInUsd {
  readonly inputPerMtok?: number | undefined;
  readonly outputPerMtok?: number | undefined;
  readonly cachedInputPerMtok?: number | undefined;
  readonly perRequest?: number | undefined;
}

/** Dollars, as a number or a decimal string ("0.25", "6E-7"), in nano-dollars; null unless it is an amount ≥ 0. */
export const nanoFromUsd = (usd: number | string): number | null => scaledInteger(usd, NANO_EXPONENT) ?? null;

/** Nano-dollars to dollars: the number whose shortest decimal form is the amount. */
export const usdFromNano = (nanoUsd: number): number => {
  const whole = Math.trunc(nanoUsd / NANO_PER_USD);
  const fraction = Math.abs(nanoUsd % NANO_PER_USD);
  const sign = nanoUsd < 0 && whole === 0 ? "-" : "";
  return Number(`${sign}${whole}.${String(fraction).padStart(NANO_EXPONENT, "0")}`);
};

/** A configured price in nano-dollars; null if it has no rate, or a rate is out of range. */
export const priceFromUsd = (price: PriceInUsd): ModelPrice | null => {
  const { inputPerMtok, outputPerMtok, cachedInputPerMtok, perRequest } = price;
  const given = [inputPerMtok, outputPerMtok, cachedInputPerMtok, perRequest].filter((usd) => usd !== undefined);
  if (given.length === 0 || given.some((usd) => nanoFromUsd(usd) === null)) return null;
  const nano = (usd: number | undefined): number => nanoFromUsd(usd ?? 0) ?? 0;
  return {
    input_nano_per_mtok: nano(inputPerMtok),
    output_nano_per_mtok: nano(outputPerMtok),
    ...(cachedInputPerMtok === undefined ? {} : { cached_input_nano_per_mtok: nano(cachedInputPerMtok) }),
    ...(perRequest === undefined ? {} : { request_nano: nano(perRequest) }),
  };
};

/** `providers.<provider>.pricing`: the entry of the first of these names that has one, else that of `*`. */
export const configuredPrice = (
  pricing: Readonly<Record<string, PriceInUsd>> | undefined,
  ...models: readonly string[]
): ModelPrice | null => {
  if (pricing === undefined) return null;
  const key = [...models, "*"].find((name) => Object.hasOwn(pricing, name));
  const price = key === undefined ? undefined : pricing[key];
  return price === undefined ? null : priceFromUsd(price);
};
