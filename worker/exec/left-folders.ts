// The folders of jobs whose worker died without removing them, as by kill -9: the next worker on the machine removes
// them. A worker listens on a socket while it lives, whose name begins the names of its folders. Invariant: folders are
// removed only where that socket refuses, which no living worker's does, in whatever container it runs. Windows has none.

import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, rmSync } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { hostname, tmpdir } from "node:os";
import path from "node:path";

const PREFIX = "signalbox-job-";
const ENDING = ".sock";
/** Linux allows 107 bytes, macOS 103. */
const MAX_SOCKET_BYTES = 100;

/** Machines that share their temporary files cannot ask each other's sockets. */
const machine = (): string => createHash("sha256").update(hostname()).digest("hex").slice(0, 8);

let own: Promise<string> | null = null;

/** How the names of this process's folders begin; without a socket they are nobody's to remove. */
export const ownPrefix = (): Promise<string> => {
  own ??= listen().catch(() => PREFIX);
  return own;
};

const listen = async (): Promise<string> => {
  const worker = `${PREFIX}${machine()}-${randomBytes(6).toString("hex")}`;
  const place = path.join(tmpdir(), worker + ENDING);
  if (process.platform === "win32" || Buffer.byteLength(place) > MAX_SOCKET_BYTES) return PREFIX;
  const server = createServer((socket) => socket.destroy()).unref();
  await once(server.listen(place), "listening");
  process.on("exit", () => {
    // It stays for the folders that stay.
    if (!readdirSync(tmpdir()).some((name) => name.startsWith(`${worker}-`))) rmSync(place, { force: true });
  });
  return `${worker}-`;
};

/** @returns how many there were. Never throws. */
export const removeLeftFolders = async (folder: string = tmpdir()): Promise<number> => {
  const names = process.platform === "win32" ? [] : await readdir(folder).catch(() => []);
  const sockets = names.filter((name) => name.startsWith(`${PREFIX}${machine()}-`) && name.endsWith(ENDING));
  let count = 0;
  for (const socket of sockets) {
    const place = path.join(folder, socket);
    if (!(await isOurs(place)) || !(await refuses(place))) continue;
    const worker = socket.slice(0, -ENDING.length);
    const left = names.filter((name) => name.startsWith(`${worker}-`)).map((name) => path.join(folder, name));
    const removed = await Promise.all(left.map(remove));
    count += removed.filter((isRemoved) => isRemoved).length;
    // The socket leads to the folders that could not be removed, so it stays with them.
    if (removed.every((isRemoved) => isRemoved)) await remove(place);
  }
  return count;
};

const remove = async (place: string): Promise<boolean> => {
  if (!(await isOurs(place))) return false;
  return rm(place, { recursive: true, force: true, maxRetries: 3 }).then(
    () => true,
    () => false,
  );
};

/** Temporary files are everybody's folder. */
const isOurs = (place: string): Promise<boolean> =>
  lstat(place).then(
    ({ uid }) => uid === process.getuid?.(),
    () => false,
  );

const refuses = (place: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(place);
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "ECONNREFUSED"));
  });
