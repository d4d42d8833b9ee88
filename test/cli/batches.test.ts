// `batch run`, which goes on where it was interrupted, as a process against a real server; and the other commands.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, linkSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SIGNALBOX } from "../support/command-line.ts";
import { succeed } from "../support/requests.ts";
import { type Tenant, tenantForTests } from "../support/shared-server.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";
import { runCommand } from "./run-command.ts";

const LINES = 40;
const TIMEOUT_MS = 90_000;

const folder = folderForAllTests();
let server: Tenant;

beforeAll(async () => {
  server = await tenantForTests();
}, TIMEOUT_MS);

afterAll(() => server?.close());

const ask = (method: string, route: string, body?: unknown) =>
  succeed({ url: server.url, key: server.adminKey }, method, route, body);

const start = (...args: string[]) => {
  const env = {
    PATH: process.env.PATH,
    HOME: "/nowhere",
    SERVICE_API_KEY: server.adminKey,
    SERVICE_API_URL: server.url,
  };
  const child = spawn(process.execPath, [SIGNALBOX, "batch", ...args], { env });
  const said = { text: "" };
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      said.text += chunk;
    });
  return { child, said, ended: once(child, "close").then(([code]) => code as number | null) };
};

/** Answers every line until the batch has ended. */
const answerAll = async (id: string): Promise<void> => {
  await ask("POST", "/presence", { instance: "w", provider: "p", apis: ["embeddings"], concurrency: 20 });
  while ((await ask("GET", `/api/batches/${id}`)).ended_at === null) {
    const { jobs } = await ask("POST", "/api/workers/w/claim", { max: 20 });
    for (const { id: job, lease, custom_id: name } of jobs)
      await ask("POST", `/api/jobs/${job}/complete`, { lease, result: { of: name } });
  }
};

const namesIn = (file: string): string[] =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);

describe("batch run", () => {
  it(
    "that is interrupted goes on with its batch, however often, and begins no second one",
    async () => {
      const [input, output] = ["in.jsonl", "out.jsonl"].map((name) => path.join(folder.path, name)) as [string, string];
      const names = Array.from({ length: LINES }, (_, at) => `q${at}`);
      const body = { model: "m1", input: "x" };
      const lineOf = (name: string): string =>
        JSON.stringify({ custom_id: name, method: "POST", url: "/v1/embeddings", body });
      writeFileSync(input, names.map(lineOf).join("\n"));
      const begun: string[] = [];
      for (let count = 0; count < 2; count += 1) {
        const { child, said, ended } = start("run", input, "-o", output);
        await expect.poll(() => said.text).toContain(`0/${LINES} in_progress`);
        const { batches } = await ask("GET", "/api/batches");
        begun.push(...batches.map(({ id }: { id: string }) => id));
        child.kill("SIGINT");
        expect(await ended).toBe(130);
      }
      expect(new Set(begun).size).toBe(1);
      const [id = ""] = begun;
      const last = start("run", input, "-o", output);
      await answerAll(id);
      expect(await last.ended, last.said.text).toBe(0);
      expect(last.said.text).toContain(`Goes on with ${id}`);
      expect(namesIn(output).sort()).toEqual(names.sort());
      // A run of a batch that has ended only writes its answers again.
      writeFileSync(output, "");
      writeFileSync(`${output}.errors`, "of an earlier run");
      expect(await start("run", input, "-o", output).ended).toBe(0);
      expect(namesIn(output)).toHaveLength(LINES);
      expect(existsSync(`${output}.errors`)).toBe(false);
      expect((await ask("GET", "/api/batches")).total).toBe(1);
      expect((await ask("GET", "/api/files?purpose=batch")).total).toBe(1);
    },
    TIMEOUT_MS,
  );

  it("takes a file that begins with a byte order mark", async () => {
    const file = path.join(folder.path, "marked.jsonl");
    writeFileSync(file, `\ufeff${JSON.stringify({ custom_id: "a", url: "/v1/embeddings" })}\n`);
    const { out } = await runCommand(["batch", "run", file], ({ pathname }, { method }) =>
      method === "GET" ? { batches: [], total: 0 } : { id: pathname === "/v1/batches" ? "batch_1" : "file-1" },
    );
    expect(out).toBe("batch_1\n");
  });

  it("says what is wrong with a file before it sends anything", async () => {
    const file = path.join(folder.path, "wrong.jsonl");
    const none = () => ({ batches: [], total: 0 });
    for (const [text, says] of [
      ["no JSON\n", "its first line is no JSON"],
      ["{}\n", 'its first line names no "url"'],
      ["\n", "it has no line"],
    ] as const) {
      writeFileSync(file, text);
      await expect(runCommand(["batch", "run", file], none)).rejects.toThrow(says);
    }
    await expect(runCommand(["batch", "run", `${file}.none`], none)).rejects.toThrow(
      `${file}.none cannot be read: there is no such file`,
    );
    await expect(runCommand(["batch", "run", folder.path], none)).rejects.toThrow("cannot be read: it is a folder");
    await expect(runCommand(["batch", "run", file, "-o", `${file}/answers`], none)).rejects.toThrow(
      `${file}/answers cannot be written: there is no folder ${file}`,
    );
  });
});

describe("the file that batch run writes", () => {
  const input = () => path.join(folder.path, "kept.jsonl");
  const line = `${JSON.stringify({ custom_id: "a", url: "/v1/embeddings" })}\n`;
  const ended = { status: "completed", total: 1, output_file: null, error_file: null, ended_at: "", eta: null };
  const answer = ({ pathname }: URL, { method }: RequestInit) => {
    if (method !== "GET") return { id: pathname === "/v1/batches" ? "batch_1" : "file-1" };
    return pathname === "/api/batches" ? { batches: [], total: 0 } : { ...BATCH, ...ended };
  };

  it("is never the file that it reads, by whatever name", async () => {
    const other = path.join(folder.path, "link.jsonl");
    const errors = path.join(folder.path, "answers.errors");
    writeFileSync(input(), line);
    symlinkSync(input(), other);
    linkSync(input(), errors);
    for (const output of [input(), other, path.join(folder.path, "answers")])
      await expect(runCommand(["batch", "run", input(), "-o", output], answer)).rejects.toThrow("would write over");
    expect(readFileSync(input(), "utf8")).toBe(line);
  });

  it("is removed where there are no answers, but not a device or a pipe", async () => {
    const [file, pipe] = [path.join(folder.path, "old.jsonl"), path.join(folder.path, "pipe")];
    writeFileSync(input(), line);
    writeFileSync(file, "of an earlier run");
    execFileSync("mkfifo", [pipe]);
    for (const output of [file, pipe]) await runCommand(["batch", "run", input(), "-o", output], answer);
    expect([existsSync(file), existsSync(pipe)]).toEqual([false, true]);
  });
});

it("batch run --wait goes on where the service was away meanwhile", async () => {
  const file = path.join(folder.path, "away.jsonl");
  writeFileSync(file, `${JSON.stringify({ custom_id: "a", url: "/v1/embeddings" })}\n`);
  let looks = 0;
  const { out, code } = await runCommand(["batch", "run", file, "--wait"], ({ pathname }, { method }) => {
    if (method !== "GET") return { id: pathname === "/v1/batches" ? "batch_1" : "file-1" };
    if (pathname === "/api/batches") return { batches: [], total: 0 };
    looks += 1;
    // Once more than a call repeats itself.
    if (looks <= 3) return Promise.reject(new TypeError("the connection was refused"));
    return { ...BATCH, status: "completed", failed: 0, running: 0, ended_at: BATCH.created_at, eta: null };
  });
  expect([out, code]).toEqual(["batch_1 completed\n", 0]);
});

const BATCH = {
  id: "batch_1",
  status: "cancelled",
  total: 10,
  completed: 3,
  failed: 1,
  cancelled: 6,
  created_at: "2026-11-22T10:00:00.000Z",
  waiting_reason: null,
  errors: [{ code: "timeout", count: 1 }],
  workers: [{ instance: "w1", completed: 3 }],
};

it("batch list shows how far each is", async () => {
  const { out } = await runCommand(["batch", "list"], () => ({ batches: [BATCH], total: 1 }));
  expect(out).toBe("batch_1\tcancelled\t10\t10\t1\t2026-11-22T10:00:00.000Z\t\n");
});

it.each([
  ["get", "GET", "/api/batches/batch_1"],
  ["cancel", "POST", "/api/batches/batch_1/cancel"],
])("batch %s shows the batch with its errors and workers", async (verb, method, address) => {
  const asked: string[] = [];
  const { out } = await runCommand(["batch", verb, "batch_1"], ({ pathname }, init) => {
    asked.push(`${init.method ?? "GET"} ${pathname}`);
    return BATCH;
  });
  expect(asked).toEqual([`${method} ${address}`]);
  for (const text of ["cancelled", "timeout 1", "w1 3"]) expect(out).toContain(text);
});

it("batch get names each fault of a failed batch with its line", async () => {
  const faults = [
    { code: "missing_model", line: 1, message: "body.model is missing", param: null },
    { code: "empty_file", line: null, message: "the file is empty", param: null },
  ];
  const { err } = await runCommand(["batch", "get", "batch_1"], ({ pathname }) =>
    pathname.startsWith("/v1/") ? { errors: { data: faults } } : { ...BATCH, status: "failed" },
  );
  expect(err).toBe("Line 1: body.model is missing\nthe file is empty\n");
});
