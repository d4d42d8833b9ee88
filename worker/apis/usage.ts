// What an attempt spent, in the form of the contract.

export type Usage = {
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens?: number | undefined;
  reasoning_tokens?: number | undefined;
  cache_write_tokens?: number | undefined;
  cache_write_1h_tokens?: number | undefined;
};

/** What a job counts; a library's own usage has other counts beside these. */
export const COUNTS = [
  "input_tokens",
  "output_tokens",
  "cached_input_tokens",
  "reasoning_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
] as const satisfies readonly (keyof Usage)[];

/** What an attempt spent. Absent fields were not reported by the runtime. */
export type Spent = {
  usage?: Usage;
  cost_usd?: number;
  model?: string;
  /** The attempt was cut before the runtime reported its counts. */
  usage_estimated?: true;
};
