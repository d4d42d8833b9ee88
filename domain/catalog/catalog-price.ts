// Reads prices from a provider's list as integers: nano-dollars per million tokens, nano-dollars per request. Read
// digit by digit from decimals, never by multiplying floats. A price that cannot be read exactly, is negative
// (providers write -1 for "varies") or exceeds a safe integer is unknown, and unknown is never zero.

import { readPath } from "./catalog-path.ts";

export type ProviderPricing = {
  unit: "per_token" | "per_1m" | "cents_per_100m";
  input: string;
  output: string;
  cached_input?: string | undefined;
  request?: string | undefined;
};

export type ModelPrice = {
  input_nano_per_mtok: number;
  output_nano_per_mtok: number;
  cached_input_nano_per_mtok?: number;
  request_nano?: number;
};

/** Powers of ten from the provider's unit to nano-dollars per million tokens. */
const UNIT_EXPONENT = { per_token: 15, per_1m: 9, cents_per_100m: 5 } as const;
const USD_EXPONENT = 9;

/** The price of a row, or undefined unless both its input and output prices are known. */
export const readPrice = (row: unknown, pricing: ProviderPricing): ModelPrice | undefined => {
  const exponent = UNIT_EXPONENT[pricing.unit];
  const input = scaledInteger(readPath(row, pricing.input), exponent);
  const output = scaledInteger(readPath(row, pricing.output), exponent);
  if (input === undefined || output === undefined) return undefined;
  const cached =
    pricing.cached_input === undefined ? undefined : scaledInteger(readPath(row, pricing.cached_input), exponent);
  const request =
    pricing.request === undefined ? undefined : scaledInteger(readPath(row, pricing.request), USD_EXPONENT);
  return {
    input_nano_per_mtok: input,
    output_nano_per_mtok: output,
    ...(cached === undefined ? {} : { cached_input_nano_per_mtok: cached }),
    ...(request === undefined ? {} : { request_nano: request }),
  };
};

/** decimal × 10^exponent as an integer, rounded half up; numbers are read in their shortest decimal form (6e-7). */
export const scaledInteger = (value: unknown, exponent: number): number | undefined => {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || text.length > 40) return undefined;
  const match = /^\+?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text.trim());
  if (match === null) return undefined;
  const [, whole = "", fraction = "", power = "0"] = match;
  const shift = exponent + Number(power) - fraction.length;
  if (shift > 60) return undefined;
  const digits = BigInt(whole + fraction);
  const scaled = shift >= 0 ? digits * 10n ** BigInt(shift) : roundedQuotient(digits, 10n ** BigInt(-shift));
  return scaled <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(scaled) : undefined;
};

const roundedQuotient = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor / 2n) / divisor;
