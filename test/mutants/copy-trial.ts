// Tries a planted defect in a copy of the tree, where no thread can: against the recorded runs of the model, on the real
// platform, against test files, or, in a file that is no module, against the simulation. A run that says nothing, because it did not start or
// ran out of time, is repeated: a busy machine catches no defect.

import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { ROOT, runCommand } from "../../self-host/run-command.ts";
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
const MAX_RUNS = 3;
const SEEDS = 150;
const MODEL = ["run", "--project", "workerd", "test/tenant/model/model", "-t", "failed once", "--retry", "0"];
const REPORT = "report.json";

type Outcome = { readonly kind: "passes" | "fails" | "says nothing"; readonly said: string };

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly failureMessages: readonly string[] }[];
  }[];
}

const copyTree = async (): Promise<string> => {
  const copy = await mkdtemp(path.join(tmpdir(), "signalbox-mutant-"));
  for (const place of [...SOURCES, ...SETTINGS, ...TESTS])
    await cp(path.join(ROOT, place), path.join(copy, place), { recursive: true });
  await mkdir(path.join(copy, "dist/dashboard"), { recursive: true });
  await symlink(path.join(ROOT, "node_modules"), path.join(copy, "node_modules"));
  return copy;
};

const outcomeOf = ({ testResults }: Report): Outcome => {
  const results = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failures = results.flatMap(({ failureMessages }) => failureMessages);
  const [failure] = failures.filter((message) => !message.includes("timed out"));
  if (failure !== undefined) return { kind: "fails", said: failure };
  if (failures.length > 0) return { kind: "says nothing", said: "it ran out of time" };
  return results.some(({ status }) => status === "passed")
    ? { kind: "passes", said: "" }
    : { kind: "says nothing", said: "no test ran" };
};

type Run = (copy: string) => Promise<Outcome>;

const runVitest =
  (args: readonly string[]): Run =>
  async (copy) => {
    const report = path.join(copy, REPORT);
    await rm(report, { force: true });
    const written = ["--reporter", "json", "--outputFile", report];
    const { output } = await runCommand("vitest", [...args, ...written], { isQuiet: true, cwd: copy });
    const told = await readFile(report, "utf8").catch(() => null);
    return told === null ? { kind: "says nothing", said: output.trim().slice(-500) } : outcomeOf(JSON.parse(told));
  };

export const runModel: Run = runVitest(MODEL);

export const runTests = (files: readonly string[]): Run => runVitest(["run", ...files, "--retry", "0", "--bail", "1"]);

export const runSimulation: Run = async (copy) => {
  const main = path.join(copy, "test/simulation/main.ts");
  const args = ["--disable-warning=ExperimentalWarning", main, "--seeds", String(SEEDS), "--no-shrink"];
  const { code, output } = await runCommand("node", args, { isQuiet: true });
  if (code === 0) return { kind: "passes", said: "" };
  const violation = /^(?:seed \d+ fails|again:).*(?:\nafter step .*)?/m.exec(output);
  return violation === null
    ? { kind: "says nothing", said: output.slice(-500) }
    : { kind: "fails", said: violation[0] };
};

const runPatiently = async (run: Run, copy: string): Promise<Outcome> => {
  let outcome = await run(copy);
  for (let runs = 1; runs < MAX_RUNS && outcome.kind === "says nothing"; runs += 1) outcome = await run(copy);
  return outcome;
};

/** The changes with which the runs pass. Throws if they do not pass on the tree as it is. */
export const tryInCopy = async (
  changes: readonly Change[],
  run: Run,
  tell: (change: Change, by: string | null) => void,
): Promise<Change[]> => {
  if (changes.length === 0) return [];
  const copy = await copyTree();
  const survivors: Change[] = [];
  try {
    for (const change of changes) {
      const place = path.join(copy, change.file);
      // Right before each, so that a machine too busy for the tests is not taken for a defect.
      const sane = await runPatiently(run, copy);
      if (sane.kind !== "passes") throw new Error(`The runs do not pass without a mutant: ${sane.said}`);
      await writeFile(place, change.text);
      const { kind, said } = await runPatiently(run, copy);
      await cp(path.join(ROOT, change.file), place);
      tell(change, kind === "passes" ? null : said);
      if (kind === "passes") survivors.push(change);
    }
    return survivors;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
};
