// Redis and PostgreSQL as installed on this machine, each in a folder of this run and reached by a Unix socket there:
// no port, no access for other accounts. Both answer a write only after it is on disk.

import { execFileSync } from "node:child_process";
import { accessSync, chmodSync, chownSync, constants, mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { type Running, runProcess } from "../measure/processes.ts";

const DEBIAN_POSTGRES = "/usr/lib/postgresql";
/** Both print it, in different case. */
const READY = /ready to accept connections/i;
export const POSTGRES_USER = "bench";

const isReady = (output: string): boolean => READY.test(output);

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const foldersOfPath = (): string[] => (process.env.PATH ?? "").split(path.delimiter).filter((folder) => folder !== "");

/** Null if it is not installed. */
export const redisProgram = (): string | null =>
  foldersOfPath()
    .map((folder) => path.join(folder, "redis-server"))
    .find(isProgram) ?? null;

/** The folder with PostgreSQL's programs, the newest if Debian has several; null if it is not installed. */
export const postgresFolder = (): string | null => {
  const hasBoth = (folder: string) => ["initdb", "postgres"].every((name) => isProgram(path.join(folder, name)));
  return [...foldersOfPath(), ...debianFolders()].find(hasBoth) ?? null;
};

const debianFolders = (): string[] => {
  try {
    const releases = readdirSync(DEBIAN_POSTGRES).toSorted((one, other) => Number(other) - Number(one));
    return releases.map((release) => path.join(DEBIAN_POSTGRES, release, "bin"));
  } catch {
    return [];
  }
};

export interface Database extends Running {
  /** The address for clients: Redis's socket, PostgreSQL's folder. */
  socket: string;
}

export const startRedis = async (program: string, folder: string): Promise<Database> => {
  mkdirSync(folder, { recursive: true });
  const socket = path.join(folder, "redis.sock");
  const settings = {
    port: "0",
    unixsocket: socket,
    unixsocketperm: "700",
    dir: folder,
    daemonize: "no",
    save: "",
    appendonly: "yes",
    appendfsync: "always",
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  return { socket, ...(await runProcess({ command: program, args, isReady })) };
};

/** PostgreSQL as `initdb` leaves it: fsync and synchronous_commit are on. It refuses to run as root. */
export const startPostgres = async (programs: string, folder: string): Promise<Database> => {
  const account = process.getuid?.() === 0 ? unprivilegedAccount() : undefined;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (account !== undefined) {
    chownSync(folder, account.uid, account.gid);
    // The account must be able to enter its folder, but cannot list what is beside it.
    chmodSync(path.dirname(folder), 0o711);
    chmodSync(path.dirname(path.dirname(folder)), 0o711);
  }
  const data = path.join(folder, "data");
  const initial = ["-D", data, "-U", POSTGRES_USER, "--auth=trust", "--encoding=UTF8", "--locale=C"];
  execFileSync(path.join(programs, "initdb"), initial, {
    ...account,
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const server = await runProcess({
    command: path.join(programs, "postgres"),
    args: ["-D", data, "-c", "listen_addresses=", "-c", `unix_socket_directories=${folder}`],
    cwd: folder,
    ...(account === undefined ? {} : { account }),
    // If it were killed, its children and shared memory would remain.
    signals: { stop: "SIGINT", kill: "SIGQUIT" },
    isReady,
  });
  return { socket: folder, ...server };
};

const unprivilegedAccount = (): { uid: number; gid: number } => {
  const id = (option: string, user: string) =>
    Number(execFileSync("id", [option, user], { stdio: ["ignore", "pipe", "ignore"] }));
  for (const user of ["postgres", "nobody"]) {
    try {
      return { uid: id("-u", user), gid: id("-g", user) };
    } catch {}
  }
  throw new Error("PostgreSQL does not run as root, and there is no account postgres or nobody");
};
