// The Unix sockets between our own processes: in the data folder, which only its owner can enter. If the path is too
// long for a socket, they are in a private folder of their own among the temporary files.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { DataDir } from "./data-dir.ts";

/** Linux allows 107 bytes, macOS 103. */
const MAX_PATH_BYTES = 100;
const LONGEST_NAME = "history-xxxxxxxxxxxx.sock";

export const makeSocketFolder = (dir: DataDir, name = "run"): string => {
  const near = path.join(dir.root, name);
  rmSync(near, { recursive: true, force: true });
  if (Buffer.byteLength(path.join(near, LONGEST_NAME)) > MAX_PATH_BYTES)
    return mkdtempSync(path.join(tmpdir(), "sbx-"));
  mkdirSync(near, { mode: 0o700 });
  return near;
};

/** On a disk that has become read-only the place stays, and the next start replaces it. */
export const removeIfPossible = (place: string): void => {
  try {
    rmSync(place, { recursive: true, force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EROFS") throw error;
  }
};

/** A socket left by a killed process blocks the next one. */
export const clearSockets = (...sockets: readonly string[]): void => {
  for (const socket of sockets) rmSync(socket, { force: true });
};
