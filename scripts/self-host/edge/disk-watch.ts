// Checks the free disk space every second: warns while there is time to act, and refuses new jobs while there is still
// room for reports, cancels and the killswitch.

import { log } from "../../../contract/log.ts";
import type { Disk } from "../../../src/home.ts";
import { MIB, readDisk } from "../disk.ts";

const LOOK_EVERY_MS = 1_000;

const SAID: Record<Disk["state"], string> = {
  ok: "The disk that holds the data has enough space again.",
  low: "The disk that holds the data has little space left",
  full: "The disk that holds the data is full: new jobs are refused until space is freed",
};

export interface DiskWatch {
  readonly disk: () => Disk;
  readonly stop: () => void;
}

/** If the file system does not answer, the last state stays. */
const lookAgain = (directory: string, last: Disk): Disk => {
  try {
    return readDisk(directory);
  } catch {
    return last;
  }
};

/** Logs each change of state once. */
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
