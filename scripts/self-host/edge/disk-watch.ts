// How much room the data has left, looked at every second: a warning comes while there is time to act, and new jobs are
// refused while there is still room for what ends work: reports, cancels, the killswitch.

import { statfsSync } from "node:fs";
import { log } from "../../../contract/log.ts";
import type { Disk } from "../../../src/http/home.ts";

const MIB = 1024 * 1024;
const LOOK_EVERY_MS = 1_000;
/** Below it the disk counts as full: what is left holds thousands of reports and the databases' own logs. */
const FULL_BELOW_BYTES = 64 * MIB;
const LOW_BELOW_BYTES = 1024 * MIB;
/** A small disk is not low from the start. */
const LOW_BELOW_SHARE = 0.1;
/** A disk so small that all of it is less than this has its bounds scaled down. */
const FULL_BELOW_SHARE = 0.05;

export const diskState = (freeBytes: number, totalBytes: number): Disk["state"] => {
  if (freeBytes < Math.min(FULL_BELOW_BYTES, totalBytes * FULL_BELOW_SHARE)) return "full";
  return freeBytes < Math.min(LOW_BELOW_BYTES, totalBytes * LOW_BELOW_SHARE) ? "low" : "ok";
};

export const readDisk = (directory: string): Disk => {
  const { bavail, blocks, bsize } = statfsSync(directory);
  const freeBytes = bavail * bsize;
  const totalBytes = blocks * bsize;
  return { freeBytes, totalBytes, state: diskState(freeBytes, totalBytes) };
};

const SAID: Record<Disk["state"], string> = {
  ok: "The disk that holds the data has room again.",
  low: "The disk that holds the data has little room left",
  full: "The disk that holds the data is full: new jobs are refused until there is room",
};

export interface DiskWatch {
  readonly disk: () => Disk;
  readonly stop: () => void;
}

/** A file system that does not answer tells nothing new. */
const lookAgain = (directory: string, last: Disk): Disk => {
  try {
    return readDisk(directory);
  } catch {
    return last;
  }
};

/** Says each change of state once. */
export const watchDisk = (directory: string): DiskWatch => {
  let disk = readDisk(directory);
  const say = (): void => {
    const left = disk.state === "ok" ? "" : ` (${Math.floor(disk.freeBytes / MIB)} MiB left in ${directory}).`;
    log(disk.state === "ok" ? "info" : "error", `disk.${disk.state}`, { detail: `${SAID[disk.state]}${left}` });
  };
  if (disk.state !== "ok") say();
  const timer = setInterval(() => {
    const before = disk.state;
    disk = lookAgain(directory, disk);
    if (disk.state !== before) say();
  }, LOOK_EVERY_MS);
  timer.unref();
  return { disk: () => disk, stop: () => clearInterval(timer) };
};
