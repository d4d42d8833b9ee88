// A server of a test's own, in which things happen that a test waits for.

export class Watched {
  #watchers: (() => void)[] = [];

  /** Resolves when `isTrue`; checked whenever something happens here. */
  until(isTrue: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!isTrue()) return;
        this.#watchers = this.#watchers.filter((one) => one !== look);
        resolve();
      };
      this.#watchers.push(look);
      look();
    });
  }

  protected changed(): void {
    for (const look of [...this.#watchers]) look();
  }
}
