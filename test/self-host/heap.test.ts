// What V8 is told about the heap of a process with tenants.

import path from "node:path";
import { expect, test } from "vitest";
import { dataDirAt } from "../../self-host/data-dir.ts";
import { wholeConfig } from "../../self-host/serving-config.ts";

const project = {
  compatibilityDate: "2026-01-01",
  compatibilityFlags: [],
  crons: [],
  databases: [],
  durableObjects: [],
  vars: {},
} as unknown as Parameters<typeof wholeConfig>[0]["project"];

const flagsWith = (heapMib: number | undefined): string | undefined => {
  const dir = dataDirAt(path.resolve("nowhere"));
  const storage = { objects: dir.objects, crons: dir.crons };
  const serving = { project, storage, configFile: dir.servingConfig, archive: null, environment: [], heapMib };
  const text = wholeConfig(serving, dir, { host: "127.0.0.1", port: 1 });
  return /v8Flags = \[(.*)\]/.exec(text)?.[1];
};

test("a heap without a bound may grow to five times what lives, and one with a bound is V8's own affair", () => {
  expect(flagsWith(undefined)).toBe('"--heap-growing-percent=400"');
  expect(flagsWith(128)).toBe('"--max-heap-size=128"');
});
