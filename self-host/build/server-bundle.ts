// The server that `npm start` runs, and the scripts that a container needs beside it, built when their sources have
// changed.

import { SERVER_DIRECTORY } from "./places.ts";
import { buildIfChanged, type Step } from "./stamp.ts";

export const SERVER_ENTRIES: Readonly<Record<string, string>> = {
  start: "scripts/start.ts",
  backup: "scripts/backup.ts",
  restore: "scripts/restore.ts",
};

export const SERVER: Step = {
  stamp: "dist/server.stamp",
  product: `${SERVER_DIRECTORY}/start.js`,
  inputs: [
    ...Object.values(SERVER_ENTRIES),
    "scripts/backup",
    "self-host",
    "src",
    "durable-objects",
    "contract",
    "domain",
    "providers",
    "migrations",
    "log",
    "worker",
    "package.json",
    "package-lock.json",
    "tsconfig.base.json",
  ],
};

export const ensureServer = (): Promise<boolean> =>
  buildIfChanged(SERVER, async () => {
    const { bundleServer } = await import("./make-server-bundle.ts");
    await bundleServer(SERVER_ENTRIES);
  });
