// How much room the data has left, looked at every second: a warning comes while there is time to act, and new jobs are
// refused while there is still room for what ends work: reports, cancels, the killswitch.

import { log } from "../../../contract/log.ts";
import type { Disk } from "../../../src/http/home.ts";
import { MIB, readDisk } from "../disk.ts";

const LOOK_EVERY_MS = 1_000;

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
