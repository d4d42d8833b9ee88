// A line of the log, as people and as collectors read it.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { configureLog, log, logProblem } from "../../log/log.ts";

let lines: string[] = [];
let writers: string[] = [];

beforeEach(() => {
  lines = [];
  writers = [];
  for (const writer of ["log", "warn", "error"] as const)
    vi.spyOn(console, writer).mockImplementation((line) => {
      lines.push(line);
      writers.push(writer);
    });
});

afterEach(() => {
  vi.restoreAllMocks();
  configureLog({ SERVICE_LOG: "json", SERVICE_LOG_LEVEL: "info" });
});

test("as JSON, a line is one object with its time, level, event and fields", () => {
  configureLog({ SERVICE_LOG: "json" });
  log("warn", "request", { request_id: "r-1", status: 401, code: "authentication_failed" });
  expect(lines).toHaveLength(1);
  const line = JSON.parse(lines[0] ?? "");
  expect(line).toMatchObject({ level: "warn", event: "request", request_id: "r-1", status: 401 });
  expect(Date.parse(line.at)).not.toBeNaN();
});

test("a line is written at its level, by which Cloudflare's own log is searched", () => {
  for (const level of ["info", "warn", "error"] as const) log(level, "request", {});
  expect(writers).toEqual(["log", "warn", "error"]);
});

test("as text, values with spaces are quoted, and what is not known is left out", () => {
  configureLog({ SERVICE_LOG: "text" });
  log("info", "worker.paused", { tenant: "acme", key_id: null, target: "gpu 1" });
  expect(lines[0]).toMatch(/ INFO {2}worker\.paused tenant=acme target="gpu 1"$/);
});

test("a line of a text log cannot be forged with a line feed", () => {
  configureLog({ SERVICE_LOG: "text" });
  log("info", "job.failed", { code: "x\n2026-01-01 ERROR forged" });
  expect(lines[0]?.split("\n")).toHaveLength(1);
});

describe("the settings", () => {
  test("off writes nothing", () => {
    configureLog({ SERVICE_LOG: "off" });
    log("error", "turn.failed", {}, new Error("boom"));
    expect(lines).toEqual([]);
  });

  test("a level leaves out what is below it", () => {
    configureLog({ SERVICE_LOG: "json", SERVICE_LOG_LEVEL: "warn" });
    log("info", "worker.returned", {});
    log("warn", "job.failed", {});
    expect(lines.map((line) => JSON.parse(line).event)).toEqual(["job.failed"]);
  });

  test("a value that is not known is said by name", () => {
    expect(logProblem({ SERVICE_LOG: "xml" })).toBe("SERVICE_LOG=xml is not one of text, json, off.");
    expect(logProblem({ SERVICE_LOG_LEVEL: "loud" })).toContain("SERVICE_LOG_LEVEL=loud");
    expect(logProblem({ SERVICE_LOG: "text", SERVICE_LOG_LEVEL: "error" })).toBeNull();
  });
});
