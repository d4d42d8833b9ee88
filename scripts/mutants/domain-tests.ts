// The tests of `test/domain` in one vitest that keeps running: a change only costs the tests that it affects.

import path from "node:path";
import { createVitest, type Vitest } from "vitest/node";

export class DomainTests {
  readonly #vitest: Vitest;
  readonly #root: string;

  private constructor(vitest: Vitest, root: string) {
    this.#vitest = vitest;
    this.#root = root;
  }

  static async open(root: string): Promise<DomainTests> {
    const vitest = await createVitest({
      root,
      project: ["node"],
      watch: false,
      pool: "threads",
      isolate: false,
      maxWorkers: 1,
      reporters: [{}],
    });
    return new DomainTests(vitest, root);
  }

  /** Whether one of these tests fails on the file as it is now. */
  async notice(file: string, tests: readonly string[]): Promise<boolean> {
    if (tests.length === 0) return false;
    this.#vitest.invalidateFile(path.join(this.#root, file));
    const specifications = await this.#vitest.globTestSpecifications([...tests]);
    const { testModules } = await this.#vitest.runTestSpecifications(specifications);
    return testModules.length === 0 || testModules.some((module) => !module.ok());
  }

  close(): Promise<void> {
    return this.#vitest.close();
  }
}
