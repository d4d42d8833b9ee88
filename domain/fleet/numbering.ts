// Small numbers for the names in use. The number of a name that nobody uses any more is given to another name.

export class Numbering {
  readonly #numberOf = new Map<string, number>();
  readonly #names: string[] = [];
  readonly #users: number[] = [];
  readonly #free: number[] = [];

  /** All numbers are smaller. */
  get limit(): number {
    return this.#names.length;
  }

  take(name: string): number {
    const known = this.#numberOf.get(name);
    const number = known ?? this.#free.pop() ?? this.#names.length;
    this.#users[number] = (this.#users[number] ?? 0) + 1;
    if (known !== undefined) return number;
    this.#names[number] = name;
    this.#numberOf.set(name, number);
    return number;
  }

  giveBack(number: number): void {
    const left = (this.#users[number] ?? 0) - 1;
    this.#users[number] = left;
    if (left > 0) return;
    this.#numberOf.delete(this.#names[number] as string);
    this.#free.push(number);
  }
}
