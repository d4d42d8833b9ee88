// What was learned of identity providers, by address, for all tenants of a process.

/** Tenants choose the addresses. */
export const MAX_REMEMBERED = 100;

export class Remembered<T> {
  readonly #byAddress = new Map<string, T>();

  get(address: string): T | undefined {
    return this.#byAddress.get(address);
  }

  /** At its bound it forgets everything: each is learned again when it is needed. */
  keep(address: string, learned: T): void {
    if (this.#byAddress.size >= MAX_REMEMBERED) this.#byAddress.clear();
    this.#byAddress.set(address, learned);
  }
}
