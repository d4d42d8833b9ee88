// Serves the floor: its worker is bundled into a temporary folder, with its config and state on disk.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { freePort, type Served, startProcess, WORKERD } from "../measure/processes.ts";

export const startFloor = async (folder: string): Promise<Served> => {
  const port = await freePort();
  mkdirSync(path.join(folder, "state"), { recursive: true });
  await build({
    entryPoints: [path.join(import.meta.dirname, "worker.ts")],
    outfile: path.join(folder, "worker.js"),
    bundle: true,
    format: "esm",
    target: "es2024",
    external: ["cloudflare:*"],
    logLevel: "warning",
  });
  writeFileSync(path.join(folder, "floor.capnp"), configOf(port, path.join(folder, "state")));
  const config = path.join(folder, "floor.capnp");
  return startProcess({ command: WORKERD, args: ["serve", "--experimental", config], port });
};

const configOf = (port: number, state: string): string => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "disk", disk = (path = ${JSON.stringify(state)}, writable = true)),
    (name = "floor", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-10-01",
      durableObjectNamespaces = [(className = "Floor", uniqueKey = "floor", enableSql = true)],
      durableObjectStorage = (localDisk = "disk"),
      bindings = [(name = "FLOOR", durableObjectNamespace = "Floor")],
    )),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "floor")],
);
`;
