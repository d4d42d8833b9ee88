// A lock of this checkout, held by one process at a time. A lock whose owner is gone is taken over.
// Plain JavaScript, because setup.mjs runs on the machine's own Node.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const WAIT_MS = 10 * 60_000;
const POLL_MS = 200;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function ownerOf(lock) {
  try {
    return Number(readFileSync(path.join(lock, "pid"), "utf8"));
  } catch {
    return 0;
  }
}

/** Runs `work` while no other process holds the lock `name` of the checkout at `root`. */
export async function withLock(name, root, work) {
  const lock = path.join(tmpdir(), `signalbox-${name}-${createHash("sha256").update(root).digest("hex").slice(0, 16)}`);
  const giveUpAt = Date.now() + WAIT_MS;
  let ownerless = 0;
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const owner = ownerOf(lock);
    // A lock without a name is being created; that lasts only a moment.
    ownerless = owner === 0 ? ownerless + 1 : 0;
    if (ownerless > 10 || (owner > 0 && !isAlive(owner))) rmSync(lock, { recursive: true, force: true });
    else if (Date.now() > giveUpAt)
      throw new Error(`Another ${name} (process ${owner}) does not finish: stop it, or remove ${lock}.`);
    else await pause(POLL_MS);
  }
  try {
    writeFileSync(path.join(lock, "pid"), String(process.pid));
    return await work();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}
