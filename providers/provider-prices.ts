// A provider's row of the price table.

/** `match` and each line of `models` are JSON, parsed when a provider is first looked up. */
export interface ProviderPrices {
  readonly id: string;
  readonly match: string | null;
  readonly fallbacks: readonly string[];
  readonly models: readonly string[];
}
