// Caches parsed JSON: the same text gives the same value, so that unchanged values are identical.

const MOST_KEPT = 5_000;

export class Parsed {
  #latest = new Map<string, unknown>();
  #older = new Map<string, unknown>();

  of<T>(text: string): T {
    let value = this.#latest.get(text);
    if (value === undefined) {
      value = this.#older.get(text) ?? JSON.parse(text);
      this.#keep(text, value);
    }
    return value as T;
  }

  #keep(text: string, value: unknown): void {
    if (this.#latest.size >= MOST_KEPT) {
      this.#older = this.#latest;
      this.#latest = new Map();
    }
    this.#latest.set(text, value);
  }
}
