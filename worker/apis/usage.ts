// What an attempt spent, in the form of the contract.

export type Usage = {
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens?: number;
  reasoning_tokens?: number;
};

/** What an attempt spent. Absent fields were not reported by the runtime. */
export type Spent = {
  usage?: Usage;
  cost_usd?: number;
  model?: string;
  /** The attempt was cut before the runtime reported its counts. */
  usage_estimated?: true;
};
