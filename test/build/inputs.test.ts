// A build is skipped while its inputs are unchanged: they have every file that goes into it, or what is served is old.

import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { DASHBOARD } from "../../self-host/build/dashboard.ts";
import { PACKAGE } from "../../self-host/build/package.ts";
import { SERVER, SERVER_ENTRIES } from "../../self-host/build/server-bundle.ts";
import { EDGE_WORKER } from "../../self-host/build/worker-bundle.ts";
import { ROOT } from "../../self-host/run-command.ts";

const RELATIVE = /(?:from|import|import\() ?"(\.[^"]+)"/g;

/** The entries and all that they import, and so on; from the root of the checkout. */
const filesFrom = (entries: readonly string[]): Set<string> => {
  const found = new Set(entries);
  for (const file of found) {
    if (!/\.tsx?$/.test(file)) continue;
    const source = readFileSync(path.join(ROOT, file), "utf8");
    for (const [, specifier = ""] of source.matchAll(RELATIVE)) found.add(path.join(path.dirname(file), specifier));
  }
  return found;
};

test.each([
  ["dashboard", DASHBOARD.inputs, ["dashboard/main.tsx", "dashboard/state/first-socket.ts"]],
  ["package for workers and clients", PACKAGE.inputs, ["cli/main.ts", "worker/serve/serve.ts", "sdk/signalbox.ts"]],
  ["edge worker", EDGE_WORKER.inputs, ["src/index.ts"]],
  ["server", SERVER.inputs, Object.values(SERVER_ENTRIES)],
])("the %s is built again when any of its files changes", (_part, inputs, entries) => {
  const files = [...filesFrom(entries)];
  expect(files.length).toBeGreaterThan(entries.length);
  expect(files.filter((file) => !inputs.some((place) => file === place || file.startsWith(`${place}/`)))).toEqual([]);
});
