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

const FAILURE_KEPT_MS = 1_000;
const failures = new Remembered<{ readonly error: unknown; readonly at: number }>();

/** After a failure the address is not asked for a second: strangers can begin sign-ins as often as they like. */
export const askUnlessFailing = async <T>(address: string, ask: () => Promise<T>): Promise<T> => {
  const failed = failures.get(address);
  if (failed !== undefined && Math.abs(Date.now() - failed.at) < FAILURE_KEPT_MS) throw failed.error;
  try {
    return await ask();
  } catch (error) {
    failures.keep(address, { error, at: Date.now() });
    throw error;
  }
};
