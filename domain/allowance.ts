// What one invocation may still ask of a platform that limits it. Work holds its worst case before it begins and
// releases it at its end; what it really asked is counted as it asks. So work that began always has what it needs,
// however much of it runs at once, and what does not fit waits for the next invocation.

/** A query of the database is a request, too: `requests` counts both. */
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

  /** False where the worst case no longer fits: then nothing is held. */
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
