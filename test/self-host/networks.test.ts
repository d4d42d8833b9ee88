// Which addresses the service's own code can reach on a server. In workerd a network reaches only what it names.

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

test("what may go to private addresses may go to public ones, too, and nothing else goes to private ones", () => {
  const dir = dataDirAt(path.resolve("nowhere"));
  const serving = {
    project,
    storage: { objects: dir.objects, crons: dir.crons },
    configFile: dir.servingConfig,
    archive: null,
    environment: [],
    heapMib: undefined,
  };
  const text = wholeConfig(serving, dir, { host: "127.0.0.1", port: 1 });
  const networks = Object.fromEntries(
    [...text.matchAll(/name = "([\w-]+)", network = \(allow = \[([^\]]*)\]/g)].map(([, name, allowed]) => [
      name,
      allowed,
    ]),
  );
  expect(networks).toEqual({ internet: '"public"', "private-network": '"private", "public"' });
});
