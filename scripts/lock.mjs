// A lock of this checkout, held by one process at a time. A lock whose owner is gone is taken over. It lies in the
// checkout: among temporary files any user of the machine could make it first, and nobody could start.
// Plain JavaScript, because setup.mjs runs on the machine's own Node.

import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { uptime } from "node:os";
import path from "node:path";

const WAIT_MS = 10 * 60_000;
const POLL_MS = 200;
/** Where nothing can be written, nothing is installed or built. */
const READ_ONLY = ["EACCES", "EPERM", "EROFS"];

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

/** After a start of the machine, its process's number may be another's. */
const isOfEarlierStart = (lock) =>
  (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY) < Date.now() - uptime() * 1000;

/** @returns whether nobody had it. */
function take(lock) {
  mkdirSync(path.dirname(lock), { recursive: true });
  try {
    mkdirSync(lock);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  }
}

/** Runs `work` while no other process holds the lock `name` of the checkout at `root`. */
export async function withLock(name, root, work) {
  const lock = path.join(root, "dist", `${name}.lock`);
  const giveUpAt = Date.now() + WAIT_MS;
  let ownerless = 0;
  try {
    while (!take(lock)) {
      const owner = ownerOf(lock);
      // A lock without a name is being created; that lasts only a moment.
      ownerless = owner === 0 ? ownerless + 1 : 0;
      const isGone = owner === process.pid || (owner > 0 && !isAlive(owner)) || isOfEarlierStart(lock);
      if (ownerless > 10 || isGone) rmSync(lock, { recursive: true, force: true });
      else if (Date.now() > giveUpAt)
        throw new Error(`Another ${name} (process ${owner}) does not finish: stop it, or remove ${lock}.`);
      else await pause(POLL_MS);
    }
  } catch (error) {
    if (READ_ONLY.includes(error.code)) return work();
    throw error;
  }
  try {
    writeFileSync(path.join(lock, "pid"), String(process.pid));
    return await work();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}
