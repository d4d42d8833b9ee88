// A provider's row of the price table.

/** `match` and each line of `models` are JSON, read when a provider is first asked for. */
export interface ProviderPrices {
  readonly id: string;
  readonly match: string | null;
  readonly fallbacks: readonly string[];
  readonly models: readonly string[];
}
