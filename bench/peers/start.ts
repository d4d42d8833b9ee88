// Starts the peers that are available on this machine: each a database and a server in front of it, with packages
// installed into this run's folder. The reason why a peer is not available is a value, not a failure.

import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { freePort, type Running, startProcess } from "../measure/processes.ts";
import { type Database, POSTGRES_USER, postgresFolder, redisProgram, startPostgres, startRedis } from "./databases.ts";

/** The server's files; the package needs no others. */
const FILES = [
  ...["package.json", "package-lock.json", "server.ts", "bullmq.ts", "pg-boss.ts"],
  ...["library-loop.ts", "bullmq-library.ts"],
];
const INSTALL_WITHIN_MS = 180_000;

export interface Peer extends Pick<Running, "cpuMicroseconds" | "stop"> {
  name: PeerName;
  port: number;
  /** The program that uses its library; null if it is not measured so. */
  library: Program | null;
}

export interface Program {
  file: string;
  args: string[];
  cwd?: string;
}

type PeerName = "BullMQ" | "pg-boss";

interface Peers {
  running: Peer[];
  missing: { name: PeerName; why: string }[];
  stop: () => Promise<void>;
}

interface Recipe {
  name: PeerName;
  /** Where its database's programs are; null if they are not installed. */
  programs: string | null;
  install: string;
  startDatabase: (programs: string, folder: string) => Promise<Database>;
  server: string;
  arguments: string[];
  /** The program that uses it by its library. */
  byLibrary: string | null;
}

const recipes = (): Recipe[] => [
  {
    name: "BullMQ",
    programs: redisProgram(),
    install: "redis-server is not installed (Debian: apt-get install redis-server)",
    startDatabase: startRedis,
    server: "bullmq.ts",
    arguments: [],
    byLibrary: "bullmq-library.ts",
  },
  {
    name: "pg-boss",
    programs: postgresFolder(),
    install: "PostgreSQL's initdb and postgres are not installed (Debian: apt-get install postgresql)",
    startDatabase: startPostgres,
    server: "pg-boss.ts",
    arguments: [POSTGRES_USER],
    byLibrary: null,
  },
];

export const startPeers = async (folder: string): Promise<Peers> => {
  const all = recipes();
  const possible = all.filter(({ programs }) => programs !== null);
  const running: Peer[] = [];
  const stop = async () => {
    await Promise.all(running.map((peer) => peer.stop()));
  };
  const missing = all.filter(({ programs }) => programs === null).map(({ name, install: why }) => ({ name, why }));
  if (possible.length === 0) return { running, missing, stop };
  const refused = await install(folder);
  if (refused !== null) missing.push(...possible.map(({ name }) => ({ name, why: refused })));
  try {
    if (refused === null) for (const recipe of possible) running.push(await startPeer(recipe, folder));
  } catch (error) {
    await stop();
    throw error;
  }
  return { running, missing, stop };
};

/** Returns why it failed, or null. */
const install = async (folder: string): Promise<string | null> => {
  mkdirSync(folder, { recursive: true });
  for (const file of FILES) copyFileSync(path.join(import.meta.dirname, file), path.join(folder, file));
  // Not `ci`: the lock need not list the optional native parts of every platform.
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
  try {
    await promisify(execFile)("npm", args, { cwd: folder, timeout: INSTALL_WITHIN_MS });
    return null;
  } catch (error) {
    const [reason = "no answer"] = /npm error .+/.exec((error as { stderr?: string }).stderr ?? "") ?? [];
    return `npm could not install its packages (${reason})`;
  }
};

const startPeer = async (recipe: Recipe, folder: string): Promise<Peer> => {
  const database = await recipe.startDatabase(recipe.programs ?? "", path.join(folder, `${recipe.name}-state`));
  try {
    const port = await freePort();
    const args = [recipe.server, String(port), database.socket, ...recipe.arguments];
    const server = await startProcess({ command: process.execPath, args, port, cwd: folder });
    // A server without its database would wait for it, and the benchmark with it.
    void database.exited.then(() => server.stop());
    return {
      name: recipe.name,
      port,
      library: recipe.byLibrary === null ? null : { file: recipe.byLibrary, args: [database.socket], cwd: folder },
      cpuMicroseconds: () => sum(server.cpuMicroseconds(), database.cpuMicroseconds()),
      stop: async () => {
        await server.stop();
        await database.stop();
      },
    };
  } catch (error) {
    await database.stop();
    throw error;
  }
};

const sum = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : one + other;
