// The lines that a child process prints, in the log of the server.

import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { configureLog } from "../../../log/log.ts";
import { passOutput } from "../../../self-host/children/child-output.ts";
import { supervise } from "../../../self-host/children/supervised.ts";

const ENTRY = '{"at":"2026-01-01T00:00:00.000Z","level":"warn","event":"job.failed"}';
const PROGRAM = `
  console.log("worker: connected");
  console.error('${ENTRY}');
  console.error("util.c++:320: error: no such host");
  console.error("stack: /bin/workerd@2b5edc0");
`;

let lines: string[] = [];

beforeEach(() => {
  lines = [];
  const keep = (line: unknown): true => lines.push(String(line).trimEnd()) > 0 || true;
  vi.spyOn(console, "log").mockImplementation(keep);
  vi.spyOn(console, "warn").mockImplementation(keep);
  vi.spyOn(console, "error").mockImplementation(keep);
  vi.spyOn(process.stderr, "write").mockImplementation(keep);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  configureLog({ SERVICE_LOG: "json", SERVICE_LOG_LEVEL: "info" });
});

test("are entries of a JSON log, those that are entries already as they are, without the addresses in a binary", async () => {
  vi.stubEnv("SERVICE_LOG", "json");
  configureLog({ SERVICE_LOG: "json" });
  await supervise("a child", [process.execPath, ["-e", PROGRAM]], { env: process.env, cwd: process.cwd() }).exited;
  await expect.poll(() => lines.length).toBe(3);
  expect(lines).toContain(ENTRY);
  const made = lines.filter((line) => line !== ENTRY).map((line) => JSON.parse(line));
  expect(made).toHaveLength(2);
  expect(made).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ level: "info", event: "process.output", what: "a child", detail: "worker: connected" }),
      expect.objectContaining({ level: "warn", detail: "util.c++:320: error: no such host" }),
    ]),
  );
});

test("are passed on as they are for people, where a child does not have our terminal", async () => {
  passOutput({ stdout: null, stderr: Readable.from([Buffer.from("worker: connected\n")]) });
  await expect.poll(() => lines).toEqual(["worker: connected"]);
});
