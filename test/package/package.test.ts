// What a coordinator serves at /signalbox.tgz, used from an empty folder with only Node and npm: a worker, the command
// line, the SDK and its types.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../../contract/client.ts";
import { VERSION } from "../../contract/words/version.ts";
import { eventually } from "../support/eventually.ts";
import { type Tenant, tenantForTests } from "../support/shared-server.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const MAX_UNPACKED_BYTES = 4 * 1024 * 1024;
const TIMEOUT_MS = 120_000;

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

let folder: string;
let server: Tenant;
let environment: NodeJS.ProcessEnv;
let installed: Ran;

/** In the empty folder, with only the given settings. */
const run = (command: string, args: string[], env: Record<string, string> = {}, input = ""): Promise<Ran> =>
  new Promise((resolve) => {
    const options = { cwd: path.join(folder, "empty"), env: { ...environment, ...env }, timeout: 60_000 };
    const child = execFile(command, args, options, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ code, out, err });
    });
    // A command that reads nothing may have ended already.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input);
  });

/** As `npm install` leaves it: npx takes a second of CPU before it begins the same program. */
const program = (): string => path.join(folder, "empty/node_modules/.bin/signalbox");

const signalbox = (args: string[], env: Record<string, string> = {}, input?: string): Promise<Ran> =>
  run(program(), args, env, input);

const withKey = () => ({ SERVICE_API_URL: server.url, SERVICE_API_KEY: server.adminKey });

const pendingJobs = async () =>
  (await createClient({ url: server.url, key: server.adminKey }).jobs.list({ status: "pending" })).jobs;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "signalbox-package-"));
  mkdirSync(path.join(folder, "empty"));
  const { PATH = "" } = process.env;
  environment = {
    PATH: PATH.split(path.delimiter)
      .filter((place) => !place.startsWith(ROOT))
      .join(path.delimiter),
    HOME: path.join(folder, "home"),
    npm_config_update_notifier: "false",
    // Nothing but the package itself may be downloaded.
    npm_config_registry: "http://127.0.0.1:9/",
  };
  server = await tenantForTests();
  await run("npm", ["init", "--yes"]);
  installed = await run("npm", ["install", "--no-audit", "--no-fund", `${server.url}/signalbox.tgz`]);
}, TIMEOUT_MS);

afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

const untilExit = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => child.once("exit", (code) => resolve(code)));

describe("the package that the coordinator serves", () => {
  it("is a gzip that may be asked for again with its tag, and of no key", async () => {
    const first = await fetch(`${server.url}/signalbox.tgz`);
    expect(first.status).toBe(200);
    const bytes = new Uint8Array(await first.arrayBuffer());
    expect([bytes[0], bytes[1]]).toEqual([0x1f, 0x8b]);
    const again = await fetch(`${server.url}/signalbox.tgz`, {
      headers: { "if-none-match": first.headers.get("etag") ?? "" },
    });
    expect(again.status).toBe(304);
  });

  it("has its version, no dependencies, no scripts, and less than 4 MB", async () => {
    expect(installed.err).toBe("");
    const at = path.join(folder, "empty/node_modules/signalbox");
    const manifest = JSON.parse(readFileSync(path.join(at, "package.json"), "utf8")) as Record<string, unknown>;
    expect(manifest).toMatchObject({ name: "signalbox", version: VERSION, engines: { node: ">=20" } });
    expect([manifest.dependencies, manifest.scripts]).toEqual([undefined, undefined]);
    const { out } = await run("du", ["-sb", at]);
    expect(Number(out.split("\t")[0])).toBeLessThan(MAX_UNPACKED_BYTES);
  });

  it("says what its user did wrong without a page of its own code", async () => {
    const program = `import { serve } from "signalbox/worker"; await serve({ provider: "p" }, () => 1);`;
    writeFileSync(path.join(folder, "empty", "mistake.mjs"), program);
    const { code, err } = await run(process.execPath, ["mistake.mjs"]);
    expect([code, err]).toEqual([1, expect.stringContaining("key: give one of role worker, or set SERVICE_API_KEY")]);
    expect(
      Math.max(
        ...err
          .trimEnd()
          .split("\n")
          .map((line) => line.trimEnd().length),
      ),
    ).toBeLessThan(500);
  });

  it("type-checks by itself, and tells a wrong field", async () => {
    const source = `import { Fail, type Job, Retry, serve } from "signalbox/worker";
import { ApiProblem, type JobResource, type NewJobRequest, Signalbox, verifyWebhook } from "signalbox";
const box = new Signalbox({ url: "http://127.0.0.1:8787", key: "k" });
const job = await box.jobs.run({ prompt: "hi", tags: ["gpu"] }, { signal: AbortSignal.timeout(1000) });
const status: "pending" | "assigned" | "running" | "completed" | "failed" | "cancelled" = job.status;
for await (const { id } of box.jobs.list({ status: "failed" })) console.log(id satisfies string, status);
for await (const event of box.jobs.stream("x")) console.log(event.data);
for (const { name, role } of (await box.keys.list()).keys) console.log(name, role satisfies string);
const event = await verifyWebhook("", {}, "whsec_x");
console.log(event.type, new ApiProblem({ status: 1, title: "x" }).code);
// @ts-expect-error: there is no such field
await box.jobs.create({ promt: "hi" });
// @ts-expect-error: a status is no number
const wrong: number = job.status;
console.log(wrong);
const again = ({ prompt }: JobResource): NewJobRequest => ({ prompt });
await box.jobs.create(again(job));
const upper = (job: Job) => job.prompt.toUpperCase();
const worker = await serve({ provider: "up", models: ["m"], concurrency: 2 }, async (job, context) => {
  await context.emit("a");
  context.progress(0.5, "half");
  context.usage({ input_tokens: 1, output_tokens: 2, cached_input_tokens: undefined });
  if (context.signal.aborted) throw new Retry("busy", { afterSeconds: 5 });
  if (job.attempt > 3) throw new Fail("bad", "no");
  return upper(job);
});
await worker.drain();
const unset = {} as Record<string, string | undefined>;
const fromSettings = { url: unset.URL, key: unset.KEY };
new Signalbox(fromSettings);
await serve({ ...fromSettings, provider: "up", instance: unset.NAME, concurrency: undefined, tier: undefined }, () => 1);
// @ts-expect-error: a worker has a provider
await serve({}, () => 1);
`;
    writeFileSync(path.join(folder, "empty/use.mts"), source);
    const flags = [
      "--strict",
      "--exactOptionalPropertyTypes",
      "--module",
      "nodenext",
      "--target",
      "es2022",
      "--lib",
      "es2023,dom,dom.asynciterable",
    ];
    const checked = await run(path.join(ROOT, "node_modules/.bin/tsc"), [
      "--noEmit",
      ...flags,
      "--types",
      "",
      "use.mts",
    ]);
    expect(checked.out).toBe("");
    expect(checked.code).toBe(0);
  });

  it("is a command: data on stdout, words on stderr, an exit code for each end", async () => {
    const version = { code: 0, out: `${VERSION}\n` };
    expect(await run("npx", ["--yes", `${server.url}/signalbox.tgz`, "version"])).toMatchObject(version);
    expect(await signalbox(["version"])).toMatchObject(version);
    const refused = await signalbox(["jobs", "get", "nope"], withKey());
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toContain("not_found");
    expect(await signalbox(["jobs", "gte"], withKey())).toMatchObject({ code: 2, out: "" });
    const config = await signalbox(["config", "get", "--json"], withKey());
    expect(JSON.parse(config.out)).toMatchObject({ jobs: { max_attempts: 5 } });
  });

  it("keeps a key that came by a pipe, readable by its owner alone, and sends it nowhere else", async () => {
    const kept = await signalbox(["login", server.url], {}, `${server.adminKey}\n`);
    expect([kept.code, kept.out]).toEqual([0, ""]);
    expect(kept.err).not.toContain(server.adminKey);
    const file = path.join(folder, "home/.config/signalbox/config.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await signalbox(["workers", "list"])).code).toBe(0);
    const elsewhere = await signalbox(["workers", "list"], {
      SERVICE_API_URL: server.url.replace("127.0.0.1", "localhost"),
    });
    expect(elsewhere.err).toContain("SERVICE_API_KEY");
  });

  it("is a worker that runs a job from its beginning to its end", async () => {
    const doctor = await signalbox(["doctor", "--json"], withKey());
    expect(doctor.code).toBe(1);
    expect(JSON.parse(doctor.out).checks).toContainEqual(expect.objectContaining({ what: "worker", verdict: "bad" }));

    const args = ["--yes", `${server.url}/signalbox.tgz`, "worker", "--runtime", "echo", "--instance", "from-npx"];
    const worker = spawn("npx", args, {
      cwd: path.join(folder, "empty"),
      env: { ...environment, ...withKey() },
      detached: true,
    });
    const exited = untilExit(worker);
    try {
      const ran = await signalbox(["run", "Say hello.", "--wait"], withKey());
      expect(ran).toMatchObject({ code: 0, out: "Say hello.\n" });
      const [job] = (await signalbox(["jobs", "list"], withKey())).out.split("\n");
      expect(job).toContain("completed\tfrom-npx");
      const well = await signalbox(["doctor", "--run"], withKey());
      expect(well).toMatchObject({ code: 0, err: expect.stringMatching(/^Waits for job \S+, a minute at most\.\n$/) });
    } finally {
      process.kill(-(worker.pid ?? 0), "SIGTERM");
    }
    await exited;
  });

  it(
    "is a worker of any command, which a cancel and the killswitch end, and which has no key",
    async () => {
      const command = "sh -c 'read -r word; echo $word $SERVICE_API_KEY; test $word = wait && sleep 300'";
      const args = ["worker", "--exec", command, "--provider", "words", "--instance", "exec", "--grace", "1"];
      const worker = spawn(program(), args, {
        cwd: path.join(folder, "empty"),
        env: { ...environment, ...withKey() },
        detached: true,
      });
      const exited = untilExit(worker);
      const { jobs, killswitch } = createClient({ url: server.url, key: server.adminKey });
      const started = async () => {
        const { id } = await jobs.create({ prompt: "wait", provider: "words" });
        await eventually(async () => expect((await jobs.get(id)).status).toBe("running"));
        return id;
      };
      try {
        const said = await signalbox(["run", "hello", "--provider", "words", "--wait"], withKey());
        expect(said.out + said.err).not.toContain(server.adminKey);
        await jobs.cancel(await started());
        await started();
        await killswitch.engage({ level: 4, reason: "test" });
        // Confirmed only when the command and its children are gone.
        const unconfirmed = async () => (await killswitch.get()).unconfirmed.map(({ instance }) => instance);
        await eventually(async () => expect(await unconfirmed()).not.toContain("exec"));
        await killswitch.clear({ resume_all: true });
        expect((await run("pgrep", ["-f", "^sleep 300$"])).out).toBe("");
      } finally {
        process.kill(-(worker.pid ?? 0), "SIGTERM");
      }
      await exited;
    },
    TIMEOUT_MS,
  );

  it.each(["esm", "cjs"] as const)("serves in a program that is bundled as %s", async (format) => {
    const folderOfProgram = path.join(folder, "empty");
    const contents = `import { serve } from "signalbox/worker";
void serve({ provider: "bundled-${format}" }, (job) => job.prompt.toUpperCase());`;
    const outfile = path.join(folderOfProgram, `bundled-${format}.${format === "cjs" ? "cjs" : "mjs"}`);
    const stdin = { contents, resolveDir: folderOfProgram };
    await build({ stdin, outfile, bundle: true, platform: "node", format, logLevel: "silent" });
    const worker = spawn("node", [outfile], { env: { ...environment, ...withKey() }, stdio: "inherit" });
    const exited = untilExit(worker);
    try {
      const ran = await signalbox(["run", "hello", "--provider", `bundled-${format}`, "--wait"], withKey());
      expect(ran).toMatchObject({ code: 0, out: "HELLO\n" });
    } finally {
      worker.kill("SIGTERM");
    }
    expect(await exited).toBe(0);
  });

  it("prints the whole answer of a worker that tells nothing while it writes", async () => {
    const { workers, jobs } = createClient({ url: server.url, key: server.adminKey });
    await workers.report({ instance: "silent", provider: "local", models: ["m1"] });
    const ran = signalbox(["run", "hi", "--model", "m1", "--stream"], withKey());
    const claimed = await eventually(async () => {
      const [job] = (await workers.claim("silent", {}, { wait: 25 })).jobs;
      if (job === undefined) throw new Error("no job yet");
      return job;
    });
    await jobs.complete(claimed.id, { lease: claimed.lease, result: { text: "all of it" } });
    expect(await ran).toMatchObject({ code: 0, out: "all of it\n" });
  });

  it("ends with 130 when it is interrupted, and says that the job goes on", async () => {
    const main = path.join(folder, "empty/node_modules/signalbox/cli/main.js");
    const child = spawn("node", [main, "run", "nobody takes this", "--tag", "no-such-tag", "--wait"], {
      env: { ...environment, ...withKey() },
    });
    let err = "";
    child.stderr.on("data", (chunk: Buffer) => {
      err += chunk.toString();
    });
    const exited = untilExit(child);
    await eventually(async () => expect(await pendingJobs()).toHaveLength(1));
    // The job exists; the command learns of it a moment later, and says what it waits for.
    await eventually(() => expect(err).not.toBe(""));
    child.kill("SIGINT");
    expect(await exited).toBe(130);
    expect(err).toMatch(/The job continues: signalbox jobs get \S+/);
  });
});
