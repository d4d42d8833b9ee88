// Whether one of several that share something is alone at it, or beside others.

/** One without a request for this long counts as inactive. */
const QUIET_AFTER_MS = 1_000;
const NOBODY = { name: "", at: Number.NEGATIVE_INFINITY };

export class Company {
  readonly #now: () => number;
  /** The last two with requests, the latest first. */
  #latest = NOBODY;
  #other = NOBODY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  note(name: string): void {
    if (this.#latest.name !== name) this.#other = this.#latest;
    this.#latest = { name, at: this.#now() };
  }

  isBesideOthers(name: string): boolean {
    const { at } = this.#latest.name === name ? this.#other : this.#latest;
    return at > this.#now() - QUIET_AFTER_MS;
  }
}
