// What one invocation may still ask of a platform with limits. Work reserves its worst case before it begins and
// releases it at the end; its real use is counted as it happens. So work that began always has what it needs, and what
// does not fit waits for the next invocation.

/** A database query is also a request: `requests` counts both. */
export interface Cost {
  readonly queries: number;
  readonly requests: number;
}

export class Allowance {
  readonly #max: Cost;
  #spent: Cost = { queries: 0, requests: 0 };
  #held: Cost = { queries: 0, requests: 0 };

  constructor(max: Cost) {
    this.#max = max;
  }

  get spent(): Cost {
    return this.#spent;
  }

  spendQueries(count: number): void {
    this.#spent = added(this.#spent, { queries: count, requests: count });
  }

  spendRequest(): void {
    this.#spent = added(this.#spent, { queries: 0, requests: 1 });
  }

  /** False if the worst case does not fit; then nothing is reserved. */
  hold(worst: Cost): boolean {
    const { queries, requests } = added(added(this.#spent, this.#held), worst);
    if (queries > this.#max.queries || requests > this.#max.requests) return false;
    this.#held = added(this.#held, worst);
    return true;
  }

  release(worst: Cost): void {
    this.#held = added(this.#held, { queries: -worst.queries, requests: -worst.requests });
  }
}

const added = (one: Cost, other: Cost): Cost => ({
  queries: one.queries + other.queries,
  requests: one.requests + other.requests,
});
