// Tests that run again and again in a copy of the tree, each time with another change to one file. One vitest stays for
// all of them: it starts once, and reads again only what has changed. Each run has processes of its own.

import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createVitest, type TestModule, type Vitest } from "vitest/node";
import { ROOT } from "../../self-host/run-command.ts";
import type { Change } from "./change.ts";

const SOURCES = [
  "cli",
  "contract",
  "domain",
  "durable-objects",
  "log",
  "migrations",
  "providers",
  "scripts",
  "sdk",
  "self-host",
  "src",
  "worker",
];
const SETTINGS = ["package.json", "tsconfig.base.json", "tsconfig.json", "vitest.config.ts", "wrangler.toml"];
const TESTS = ["test"];

export interface Outcome {
  readonly kind: "passes" | "fails" | "says nothing";
  readonly said: string;
}

const copyTree = async (): Promise<string> => {
  const copy = await mkdtemp(path.join(tmpdir(), "signalbox-mutant-"));
  for (const place of [...SOURCES, ...SETTINGS, ...TESTS])
    await cp(path.join(ROOT, place), path.join(copy, place), { recursive: true });
  await mkdir(path.join(copy, "dist/dashboard"), { recursive: true });
  await symlink(path.join(ROOT, "node_modules"), path.join(copy, "node_modules"));
  return copy;
};

export class TestBench {
  readonly #copy: string;
  readonly #vitest: Vitest;

  private constructor(copy: string, vitest: Vitest) {
    this.#copy = copy;
    this.#vitest = vitest;
  }

  static async open(): Promise<TestBench> {
    const copy = await copyTree();
    const silent = { reporters: [{}], silent: true };
    const vitest = await createVitest({ root: copy, watch: false, retry: 0, bail: 1, ...silent });
    return new TestBench(copy, vitest);
  }

  async plant({ file, text }: Change): Promise<void> {
    const place = path.join(this.#copy, file);
    await writeFile(place, text);
    this.#vitest.invalidateFile(place);
  }

  async restore({ file }: Change): Promise<void> {
    const place = path.join(this.#copy, file);
    await cp(path.join(ROOT, file), place);
    this.#vitest.invalidateFile(place);
  }

  async run(files: readonly string[]): Promise<Outcome> {
    const places = files.map((file) => path.join(this.#copy, file));
    const found = await this.#vitest.globTestSpecifications(places);
    const { unhandledErrors } = await this.#vitest.runTestSpecifications(found);
    const outcome = outcomeOf(found.flatMap(({ testModule }) => testModule ?? []));
    // Where a process did not start, the modules are as the run before left them.
    const isCertain = outcome.kind !== "passes" || unhandledErrors.length === 0;
    return isCertain ? outcome : { kind: "says nothing", said: "a process of its tests failed" };
  }

  async close(): Promise<void> {
    await this.#vitest.close();
    await rm(this.#copy, { recursive: true, force: true });
  }
}

const outcomeOf = (modules: readonly TestModule[]): Outcome => {
  const tests = modules.flatMap(({ children }) => [...children.allTests()]);
  const suites = modules.flatMap((module) => [module, ...module.children.allSuites()]);
  const errors = [...suites.flatMap((suite) => suite.errors()), ...tests.flatMap((one) => one.result().errors ?? [])];
  const [failure] = errors.filter(({ message }) => !message.includes("timed out"));
  if (failure !== undefined) return { kind: "fails", said: failure.message };
  if (errors.length > 0) return { kind: "says nothing", said: "it ran out of time" };
  return tests.some((one) => one.result().state === "passed")
    ? { kind: "passes", said: "" }
    : { kind: "says nothing", said: "no test ran" };
};
