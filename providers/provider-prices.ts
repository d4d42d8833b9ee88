// A provider's row of the price table, written short: the table is a large part of what an isolate loads.

/** The file `price-data.json`. */
export interface PriceData {
  /** The package and its version. */
  readonly from: string;
  /** The day on which it was made from that version. */
  readonly madeOn: string;
  readonly providers: readonly NamedProvider[];
  /**
   * Of each provider, its models' words, with a blank between (`&` joins those that must all fit), in the order in which
   * they are tried.
   */
  readonly models: readonly (readonly string[])[];
  /** Of the same models, their rates, as the inside of a JSON list. Apart from the words, both are compressed better. */
  readonly rates: readonly (readonly string[])[];
}

export interface NamedProvider {
  readonly id: string;
  /** Null or a `Match`, as JSON. */
  readonly match: string | null;
  /** The providers whose models it resells. */
  readonly fallbacks: readonly string[];
}

/** A sign and a text in lower case: `=` equals it, `^` starts with it, `$` ends with it, `*` contains it, `~` a regex. */
export type Word = string;

/** One of them must fit; of an inner list, all. */
export type Match = readonly (Word | readonly Word[])[];

/** A rate, or one that depends on how many input tokens a request has: above the start of a tier, its price. */
export type Rate = number | readonly [base: number, ...tiers: readonly (readonly [start: number, price: number])[]];

export interface Condition {
  readonly start_date?: string;
  /** For example 16:30:00Z, in UTC; no range in the table spans midnight. */
  readonly start_time?: string;
  readonly end_time?: string;
}

/** Shorter if the last ones are missing. Without a rate for input the price is unknown. */
export type Rates = readonly [
  input?: Rate | null,
  output?: Rate | null,
  cached?: Rate | null,
  requests?: number | null,
  condition?: Condition,
];

/** Later rates take precedence over earlier ones. */
export type ListedModel = readonly [match: Match, ...rates: readonly Rates[]];
