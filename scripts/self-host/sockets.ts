// The Unix sockets between our own processes: in the data folder, which only its owner enters. A path longer than the
// system takes for a socket moves them to a folder of their own among the temporary files, as private.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { DataDir } from "./data-dir.ts";

/** Linux takes 107 bytes, macOS 103. */
const MAX_PATH_BYTES = 100;
const LONGEST_NAME = "history-xxxxxxxxxxxx.sock";

export function makeSocketFolder(dir: DataDir, name = "run"): string {
  const near = path.join(dir.root, name);
  rmSync(near, { recursive: true, force: true });
  if (Buffer.byteLength(path.join(near, LONGEST_NAME)) > MAX_PATH_BYTES)
    return mkdtempSync(path.join(tmpdir(), "sbx-"));
  mkdirSync(near, { mode: 0o700 });
  return near;
}

/** A socket left by a process that was killed is in the way of the next. */
export function clearSockets(...sockets: readonly string[]): void {
  for (const socket of sockets) rmSync(socket, { force: true });
}
