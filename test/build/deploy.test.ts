// `npm run deploy` with a wrangler that only records its calls: a built checkout in a folder of its own.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { folderForEachTest } from "../support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const LINKED = ["contract", "domain", "durable-objects", "migrations", "providers", "src", "package.json"];
const DATABASE_ID = "11111111-2222-3333-4444-555555555555";

/** Records each call with its secrets file and the kept root key; fails at the step it is told. */
const WRANGLER = `#!/usr/bin/env node
const { appendFileSync, existsSync, readFileSync, statSync } = require("node:fs");
const args = process.argv.slice(2);
const step = ["whoami", "d1 list", "d1 migrations apply", "secret list", "deploy"].find((one) => args.join(" ").startsWith(one));
const file = args[args.indexOf("--secrets-file") + 1];
const secrets = args.includes("--secrets-file") ? JSON.parse(readFileSync(file, "utf8")) : null;
const mode = secrets === null ? null : statSync(file).mode & 0o777;
const kept = existsSync(".wrangler/root.key") ? readFileSync(".wrangler/root.key", "utf8").trim() : null;
appendFileSync("calls.jsonl", JSON.stringify({ step, args, secrets, mode, kept }) + "\\n");
if (process.env.FAKE_FAILS === step) process.exit(1);
if (step === "d1 list") console.log(JSON.stringify([{ name: "signalbox", uuid: "${DATABASE_ID}" }]));
if (step === "secret list") console.log(process.env.FAKE_SECRETS ?? "[]");
`;

interface Call {
  step: string;
  args: string[];
  secrets: Record<string, string> | null;
  mode: number | null;
  kept: string | null;
}

const folder = folderForEachTest();
beforeEach(() => {
  for (const name of LINKED) symlinkSync(path.join(ROOT, name), path.join(folder.path, name));
  cpSync(path.join(ROOT, "scripts"), path.join(folder.path, "scripts"), { recursive: true });
  cpSync(path.join(ROOT, "wrangler.toml"), path.join(folder.path, "wrangler.toml"));
  symlinkSync(path.join(ROOT, "dist"), path.join(folder.path, "dist"));
  mkdirSync(path.join(folder.path, "node_modules/.bin"), { recursive: true });
  writeFileSync(path.join(folder.path, "node_modules/.bin/wrangler"), WRANGLER, { mode: 0o755 });
});
const deploy = (settings: Record<string, string> = {}) => {
  const { SERVICE_ROOT_KEY: _root, SERVICE_SIGNING_SECRET: _signing, ...inherited } = process.env;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", "scripts/deploy.ts"],
    { cwd: folder.path, env: { ...inherited, ...settings }, encoding: "utf8" },
  );
  const lines = readFileSync(path.join(folder.path, "calls.jsonl"), "utf8").trim().split("\n");
  return { status, said: stdout + stderr, calls: lines.map((line) => JSON.parse(line) as Call) };
};
const keptKey = (): string => readFileSync(path.join(folder.path, ".wrangler/root.key"), "utf8").trim();
const existing = (...names: string[]) => ({ FAKE_SECRETS: JSON.stringify(names.map((name) => ({ name }))) });

describe("a first deploy", () => {
  it("keeps the root key in a file of the owner before the upload, and shows no secret", () => {
    const { status, said, calls } = deploy();
    expect([status, said]).toEqual([0, expect.stringContaining("is kept in")]);
    const upload = calls.find(({ step }) => step === "deploy");
    const { SERVICE_ROOT_KEY: root = "", SERVICE_SIGNING_SECRET: signing = "" } = upload?.secrets ?? {};
    expect([root.length, signing.length]).toEqual([43, 43]);
    expect(upload).toMatchObject({ kept: root, mode: 0o600 });
    expect(keptKey()).toBe(root);
    expect(statSync(path.join(folder.path, ".wrangler/root.key")).mode & 0o777).toBe(0o600);
    for (const secret of [root, signing]) {
      expect(said).not.toContain(secret);
      expect(JSON.stringify(calls.map(({ args }) => args))).not.toContain(secret);
    }
  });

  it("goes from the database over its migrations and the secrets to the upload, once", () => {
    const { calls } = deploy();
    expect(calls.map(({ step }) => step)).toEqual([
      "whoami",
      "d1 list",
      "d1 migrations apply",
      "secret list",
      "deploy",
    ]);
    expect(readFileSync(path.join(folder.path, "wrangler.toml"), "utf8")).toContain(DATABASE_ID);
  });

  it("whose upload fails, though it may have arrived, loses nothing: the next one takes the same key", () => {
    const failed = deploy({ FAKE_FAILS: "deploy" });
    expect([failed.status, failed.said]).toEqual([1, expect.stringContaining("the steps after it were not run")]);
    const sent = failed.calls.at(-1)?.secrets?.SERVICE_ROOT_KEY;
    expect(keptKey()).toBe(sent);
    expect(deploy().calls.at(-1)?.secrets?.SERVICE_ROOT_KEY).toBe(sent);
    const third = deploy(existing("SERVICE_ROOT_KEY", "SERVICE_SIGNING_SECRET"));
    expect(third.calls.at(-1)).toMatchObject({ step: "deploy", secrets: null });
    expect(keptKey()).toBe(sent);
  });

  it("whose earlier step fails uploads nothing", () => {
    for (const step of ["whoami", "d1 list", "d1 migrations apply", "secret list"]) {
      const { status, calls } = deploy({ FAKE_FAILS: step });
      expect([step, status, calls.at(-1)?.step]).toEqual([step, 1, step]);
      rmSync(path.join(folder.path, "calls.jsonl"));
      cpSync(path.join(ROOT, "wrangler.toml"), path.join(folder.path, "wrangler.toml"));
    }
  });

  it("with a given root key uploads that, and keeps no copy", () => {
    const { said, calls } = deploy({ SERVICE_ROOT_KEY: "given-root-key" });
    expect(calls.at(-1)).toMatchObject({ secrets: { SERVICE_ROOT_KEY: "given-root-key" }, kept: null });
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
  expect(calls.at(-1)).toMatchObject({ step: "deploy", secrets: null, kept: null });
});
