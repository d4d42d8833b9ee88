// Pauses the server on request: a backup connects, and every process that writes to the data folder is stopped until
// the backup disconnects, dies or takes too long. A copy begun meanwhile is what a power cut at that instant would have
// left, in all databases at once.

import { readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import path from "node:path";
import type { DataDir } from "./data/data-dir.ts";
import { makeSocketFolder, removeIfPossible } from "./data/sockets.ts";
import { ExitError } from "./exit-error.ts";
import type { Served } from "./served.ts";

/** Long enough to open a thousand databases; requests wait at most this long. */
const MAX_FREEZE_MS = 5_000;
const FROZEN = "frozen\n";

interface Freezing {
  readonly close: () => void;
}

/** Windows stops no process to let it go on later. */
const MAY_PAUSE = process.platform !== "win32";

export const serveFreezing = async (dir: DataDir, served: Served, mayPause = MAY_PAUSE): Promise<Freezing> => {
  if (!mayPause) return { close: () => {} };
  const folder = makeSocketFolder(dir, "freeze");
  const socketPath = path.join(folder, "freeze.sock");
  let holders = 0;
  const server: Server = createServer((socket) => {
    holders += 1;
    if (holders === 1) served.freeze();
    const timer = setTimeout(() => socket.destroy(), MAX_FREEZE_MS);
    socket.on("error", () => {});
    socket.once("close", () => {
      clearTimeout(timer);
      holders -= 1;
      if (holders === 0) served.thaw();
    });
    socket.write(FROZEN);
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  // The folder may lie elsewhere for who makes the backup: a container's volume, seen from the host.
  const isBelow = path.dirname(folder) === dir.root;
  writeFileSync(dir.freezePath, isBelow ? path.relative(dir.root, socketPath) : socketPath, { mode: 0o600 });
  return {
    close: () => {
      server.close();
      removeIfPossible(dir.freezePath);
      removeIfPossible(folder);
    },
  };
};

/** Runs `work` while the folder's server is paused. Throws if the pause ends before `work` is done. */
export const whileFrozen = async <T>(dir: DataDir, work: () => T, mayPause = MAY_PAUSE): Promise<T> => {
  if (!mayPause) throw new ExitError(`Windows cannot pause the server that uses ${dir.root}: stop it, and try again.`);
  const socket = await frozen(dir);
  const startedAt = performance.now();
  try {
    const done = work();
    if (performance.now() - startedAt > MAX_FREEZE_MS) throw notPaused(dir, "the copy took too long to begin");
    return done;
  } finally {
    socket.destroy();
  }
};

const frozen = (dir: DataDir): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(socketPathOf(dir));
    socket.once("error", ({ message }) => reject(notPaused(dir, message)));
    socket.once("close", () => reject(notPaused(dir, "the server ended")));
    socket.once("data", () => resolve(socket));
  });

const socketPathOf = (dir: DataDir): string => {
  try {
    return path.resolve(dir.root, readFileSync(dir.freezePath, "utf8"));
  } catch (error) {
    throw notPaused(dir, (error as Error).message);
  }
};

const notPaused = (dir: DataDir, why: string): ExitError =>
  new ExitError(
    `The server that uses ${dir.root} cannot be paused (${why}): try again when it is ready, where it runs and as its user.`,
  );
