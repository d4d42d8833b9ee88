// `npm run deploy` with a wrangler that only records its calls: a built checkout in a folder of its own.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { databasesWith } from "../../scripts/deploy/databases.ts";
import { withDatabase } from "../../scripts/deploy/remote.ts";
import { withoutComments } from "../../scripts/deploy/sql-text.ts";
import { loadProject } from "../../self-host/build/project.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const LINKED = [
  "contract",
  "domain",
  "log",
  "durable-objects",
  "migrations",
  "providers",
  "src",
  "worker",
  "package.json",
];
const DATABASE_ID = "11111111-2222-3333-4444-555555555555";
/** Some deploys one after the other, each of many processes. */
const SLOW_MS = 120_000;
const MIGRATIONS = (await loadProject()).databases[0]?.migrations.map(({ name }) => name) ?? [];
/** What D1's ledger lists. Without it: all, because each import of a migration is a process. */
const applied = (names: readonly string[]) => ({ FAKE_APPLIED: JSON.stringify(names) });
const NEW_DATABASE = applied([]);

/** Records each call with its secrets file and the kept root key; fails at the step it is told. */
const WRANGLER = `#!/usr/bin/env node
const { appendFileSync, existsSync, readFileSync, statSync } = require("node:fs");
const args = process.argv.slice(2);
const step = ["whoami", "d1 list", "d1 create", "d1 execute", "secret list", "deploy"].find((one) => args.join(" ").startsWith(one));
const file = args[args.indexOf("--secrets-file") + 1];
const secrets = args.includes("--secrets-file") ? JSON.parse(readFileSync(file, "utf8")) : null;
const mode = secrets === null ? null : statSync(file).mode & 0o777;
const read = (name) => (existsSync(name) ? readFileSync(name, "utf8").trim() : null);
const kept = [read(".deploy/root.key"), read(".deploy/signing.secret")];
const imported = args.includes("--file") ? read(args[args.indexOf("--file") + 1]) : null;
appendFileSync("calls.jsonl", JSON.stringify({ step, args, secrets, mode, kept, imported }) + "\\n");
if (process.env.FAKE_FAILS === step) process.exit(1);
const made = (read("made") ?? "").split("\\n").filter((name) => name !== "");
if (step === "d1 list")
  console.log(JSON.stringify([{ name: "signalbox", uuid: "${DATABASE_ID}" }, ...made.map((name) => ({ name, uuid: "id of " + name }))]));
if (step === "d1 create") appendFileSync("made", args[2] + "\\n");
if (args.includes("--json") && step === "d1 execute")
  console.log(JSON.stringify([{ results: JSON.parse(process.env.FAKE_APPLIED ?? "[]").map((name) => ({ name })) }]));
if (step === "secret list") console.log(process.env.FAKE_SECRETS ?? "[]");
`;

interface Call {
  step: string;
  args: string[];
  secrets: Record<string, string> | null;
  mode: number | null;
  /** The root key and the signing secret. */
  kept: (string | null)[];
  /** A file of statements. */
  imported: string | null;
}

const folder = folderForEachTest();
beforeEach(() => {
  for (const name of LINKED) symlinkSync(path.join(ROOT, name), path.join(folder.path, name));
  for (const room of ["scripts", "self-host"])
    cpSync(path.join(ROOT, room), path.join(folder.path, room), { recursive: true });
  cpSync(path.join(ROOT, "wrangler.toml"), path.join(folder.path, "wrangler.toml"));
  symlinkSync(path.join(ROOT, "dist"), path.join(folder.path, "dist"));
  mkdirSync(path.join(folder.path, "node_modules/.bin"), { recursive: true });
  writeFileSync(path.join(folder.path, "node_modules/.bin/wrangler"), WRANGLER, { mode: 0o755 });
});
const deploy = (settings: Record<string, string> = {}, ...args: string[]) => {
  const { SERVICE_ROOT_KEY: _root, SERVICE_SIGNING_SECRET: _signing, ...inherited } = process.env;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", "scripts/deploy.ts", ...args],
    { cwd: folder.path, env: { ...inherited, ...applied(MIGRATIONS), ...settings }, encoding: "utf8" },
  );
  const lines = readFileSync(path.join(folder.path, "calls.jsonl"), "utf8").trim().split("\n");
  return { status, said: stdout + stderr, calls: lines.map((line) => JSON.parse(line) as Call) };
};
const keptIn = (name: string): string => readFileSync(path.join(folder.path, ".deploy", name), "utf8").trim();
/** As SQLite reads a file: a statement ends where it is complete. */
const statementsOf = (text: string): string[] => {
  const statements: string[] = [];
  let rest = "";
  for (const line of text.split(/(?<=;)/)) {
    rest += line;
    if (!isComplete(rest)) continue;
    statements.push(rest);
    rest = "";
  }
  return rest.trim() === "" ? statements : [...statements, rest];
};
/** A trigger is complete with its END. */
const isComplete = (text: string): boolean => !/^\s*CREATE TRIGGER/i.test(text) || /\bEND;$/i.test(text);
const existing = (...names: string[]) => ({ FAKE_SECRETS: JSON.stringify(names.map((name) => ({ name }))) });

describe("a first deploy", () => {
  it("keeps the root key and the signing secret in files of the owner before the upload, and shows no secret", () => {
    const { status, said, calls } = deploy();
    expect([status, said]).toEqual([0, expect.stringContaining("is kept in")]);
    const upload = calls.find(({ step }) => step === "deploy");
    const { SERVICE_ROOT_KEY: root = "", SERVICE_SIGNING_SECRET: signing = "" } = upload?.secrets ?? {};
    expect([root.length, signing.length]).toEqual([43, 43]);
    expect(upload).toMatchObject({ kept: [root, signing], mode: 0o600 });
    for (const [name, secret] of [
      ["root.key", root],
      ["signing.secret", signing],
    ] as const) {
      expect(keptIn(name)).toBe(secret);
      expect(statSync(path.join(folder.path, ".deploy", name)).mode & 0o777).toBe(0o600);
      expect(said).toContain(path.join(".deploy", name));
    }
    for (const secret of [root, signing]) {
      expect(said).not.toContain(secret);
      expect(JSON.stringify(calls.map(({ args }) => args))).not.toContain(secret);
    }
  });

  it("goes from the database over its migrations and the secrets to the upload, once", () => {
    const { calls } = deploy(NEW_DATABASE);
    expect([...new Set(calls.map(({ step }) => step))]).toEqual([
      "whoami",
      "d1 list",
      "d1 execute",
      "secret list",
      "deploy",
    ]);
    expect(calls.filter(({ step }) => step === "deploy")).toHaveLength(1);
    expect(readFileSync(path.join(folder.path, "wrangler.toml"), "utf8")).toContain(DATABASE_ID);
  });

  it("whose upload fails, though it may have arrived, loses nothing: the next one takes the same key", {
    timeout: SLOW_MS,
  }, () => {
    const failed = deploy({ FAKE_FAILS: "deploy" });
    expect([failed.status, failed.said]).toEqual([1, expect.stringContaining("the steps after it were not run")]);
    const sent = failed.calls.at(-1)?.secrets;
    expect([keptIn("root.key"), keptIn("signing.secret")]).toEqual([
      sent?.SERVICE_ROOT_KEY,
      sent?.SERVICE_SIGNING_SECRET,
    ]);
    expect(deploy().calls.at(-1)?.secrets).toEqual(sent);
    const third = deploy(existing("SERVICE_ROOT_KEY", "SERVICE_SIGNING_SECRET"));
    expect(third.calls.at(-1)).toMatchObject({ step: "deploy", secrets: null });
    expect(keptIn("root.key")).toBe(sent?.SERVICE_ROOT_KEY);
  });

  it("whose earlier step fails uploads nothing", () => {
    for (const step of ["whoami", "d1 list", "d1 execute", "secret list"]) {
      const { status, calls } = deploy({ FAKE_FAILS: step });
      expect([step, status, calls.at(-1)?.step]).toEqual([step, 1, step]);
      rmSync(path.join(folder.path, "calls.jsonl"));
      cpSync(path.join(ROOT, "wrangler.toml"), path.join(folder.path, "wrangler.toml"));
    }
  });

  it("says which command logs in, one that runs on Node 20", () => {
    expect(deploy({ FAKE_FAILS: "whoami" }).said).toContain("`npx wrangler login`");
  });

  it("fetches no address of its own zone past the firewall, and knows of clients that leave", () => {
    const [, flags = ""] =
      /^compatibility_flags = \[([^\]]*)\]/m.exec(readFileSync(path.join(ROOT, "wrangler.toml"), "utf8")) ?? [];
    const set = flags.split("\n").map((line) => line.trim());
    expect(set).toEqual(expect.arrayContaining(['"global_fetch_strictly_public",', '"enable_request_signal",']));
  });

  it("with a given root key uploads that, and keeps no copy", () => {
    const { said, calls } = deploy({ SERVICE_ROOT_KEY: "given-root-key" });
    expect(calls.at(-1)).toMatchObject({ secrets: { SERVICE_ROOT_KEY: "given-root-key" } });
    expect(calls.at(-1)?.kept[0]).toBeNull();
    expect(said).not.toContain("given-root-key");
  });
});

it("a root key given over the worker's own is said to be ignored, and is not uploaded", () => {
  const { status, said, calls } = deploy({
    SERVICE_ROOT_KEY: "given-root-key",
    ...existing("SERVICE_ROOT_KEY", "SERVICE_SIGNING_SECRET"),
  });
  expect(status).toBe(0);
  expect(said).toContain("SERVICE_ROOT_KEY in the environment is ignored, because the worker already has that secret.");
  expect(said).not.toContain("given-root-key");
  expect(calls.at(-1)).toMatchObject({ step: "deploy", secrets: null, kept: [null, null] });
});

describe("several history databases", () => {
  const first = { binding: "DB", databaseName: "signalbox", migrations: [] };
  const toml = () => readFileSync(path.join(folder.path, "wrangler.toml"), "utf8");
  const bindings = () => [...toml().matchAll(/^binding = "(DB.*)"\ndatabase_name = "(.*)"\ndatabase_id = "(.*)"/gm)];

  it("are made once, named in wrangler.toml, and each migrated before the upload", { timeout: SLOW_MS }, () => {
    const due = MIGRATIONS.slice(-2);
    const { status, calls } = deploy(applied(MIGRATIONS.slice(0, -2)), "--databases", "3");
    expect(status).toBe(0);
    expect(bindings().map(([, ...block]) => block)).toEqual([
      ["DB", "signalbox", DATABASE_ID],
      ["DB_1", "signalbox-1", "id of signalbox-1"],
      ["DB_2", "signalbox-2", "id of signalbox-2"],
    ]);
    expect(calls.filter(({ step }) => step === "d1 create").map(({ args }) => args[2])).toEqual([
      "signalbox-1",
      "signalbox-2",
    ]);
    for (const binding of ["DB", "DB_1", "DB_2"]) {
      const imported = calls.filter(({ args, imported: text }) => args[2] === binding && text !== null);
      expect([binding, imported.map(({ args }) => path.basename(args.at(-1) ?? ""))]).toEqual([binding, due]);
    }
    expect(calls.at(-1)?.step).toBe("deploy");
    const before = toml();
    rmSync(path.join(folder.path, "calls.jsonl"));
    const again = deploy({}, "--databases", "3");
    expect([again.status, toml()]).toEqual([0, before]);
    expect(again.calls.filter(({ step }) => step === "d1 create")).toEqual([]);
  });

  it("are found in a file that is written otherwise, and get no second block", () => {
    const written = [
      "name='x' # [[d1_databases]]",
      "[[d1_databases]]",
      "# ours",
      "database_id = '00000000-0000-0000-0000-000000000000'",
      "binding='DB'",
      "[[d1_databases]]",
      'binding = "DB_1"',
      'database_id = "known"',
    ].join("\n");
    const named = withDatabase(written, { ...first, databaseName: "x" }, "new-id");
    expect(named).toBe(written.replace(/0{8}-0{4}-0{4}-0{4}-0{12}/, "new-id"));
    expect(withDatabase(written, { binding: "DB_1", databaseName: "x-1" }, "other")).toBeNull();
    expect(withDatabase(written, { binding: "DB_10", databaseName: "x-10" }, "ten")).toContain('binding = "DB_10"');
  });

  it("are as many as the file has, where nobody asks for more", () => {
    deploy();
    expect(bindings()).toHaveLength(1);
  });

  it("cannot be another number: nothing is touched", () => {
    const before = toml();
    writeFileSync(path.join(folder.path, "calls.jsonl"), "{}");
    const { status, calls } = deploy({}, "--databases=17");
    expect([status, calls, toml()]).toEqual([2, [{}], before]);
    for (const count of ["0", "two", "-1", ""]) expect(() => databasesWith({ databases: [first] }, count)).toThrow();
  });

  it("can never become fewer: tenants are in each", () => {
    const one = { binding: "DB_1", databaseName: "other", migrations: [] };
    expect(() => databasesWith({ databases: [first, one] }, "1")).toThrow("can only grow");
    expect(databasesWith({ databases: [first, one] }, "3")).toEqual([
      first,
      one,
      { binding: "DB_2", databaseName: "signalbox-2", migrations: [] },
    ]);
  });
});

describe("D1's migrations in the account", () => {
  const importsOf = (calls: readonly Call[]): string[] =>
    calls.flatMap(({ imported }) => (imported === null ? [] : [imported]));
  /** The schema as SQLite keeps it, without comments and spaces. */
  const schemaOf = (db: DatabaseSync): unknown =>
    db
      .prepare(
        "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'd1_%' AND name NOT LIKE 'sqlite_%' ORDER BY type, name",
      )
      .all()
      .map(({ type, name, sql }) => [type, name, withoutComments(String(sql)).replaceAll(/\s+/g, " ")]);

  it("make the schema that a local start makes, each statement executed by itself", async () => {
    const { databases } = await loadProject();
    const local = new DatabaseSync(":memory:");
    for (const { queries } of databases.flatMap(({ migrations }) => migrations))
      for (const one of queries) local.exec(one);
    const remote = new DatabaseSync(":memory:");
    const { calls } = deploy(NEW_DATABASE);
    const commands = calls.filter(({ args }) => args.includes("--command")).map(({ args }) => String(args.at(-1)));
    for (const command of commands) remote.prepare(command).all();
    for (const text of importsOf(calls)) {
      expect(text).not.toMatch(/--|\/\*|\r/);
      for (const statement of statementsOf(text)) remote.prepare(statement).run();
    }
    expect(schemaOf(remote)).toEqual(schemaOf(local));
    expect(
      remote
        .prepare("SELECT name FROM d1_migrations ORDER BY id")
        .all()
        .map(({ name }) => name),
    ).toEqual(MIGRATIONS);
  });

  it("are applied once: what the ledger lists is left out", () => {
    const { calls } = deploy(applied(MIGRATIONS.slice(0, -1)));
    expect(importsOf(calls)).toEqual([expect.stringContaining(`VALUES ('${MIGRATIONS.at(-1)}')`)]);
    expect(calls.every(({ args }) => args[0] !== "d1" || args[1] === "list" || args.includes("--remote"))).toBe(true);
  });

  it("of a newer release stop the deploy", () => {
    const { status, said, calls } = deploy(applied(["9999_newer.sql"]));
    expect([status, importsOf(calls)]).toEqual([1, []]);
    expect(said).toContain("9999_newer.sql");
  });

  it("have no comment left, while what stands in quotes stays", () => {
    const sql = "SELECT '--not; a comment', \"/*\" -- it's; one\r\nFROM t /* ; ' */ WHERE a = 'it''s'";
    expect(withoutComments(sql)).toBe("SELECT '--not; a comment', \"/*\"\nFROM t\n WHERE a = 'it''s'");
  });
});
