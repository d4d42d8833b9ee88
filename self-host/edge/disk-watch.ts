// Watches the free disk space: warns while there is time to act, and refuses new jobs while there is still room for
// reports, cancels and the killswitch. What requests under way may write counts as written.

import { MIB } from "../../domain/words/size.ts";
import { log } from "../../log/log.ts";
import type { Disk } from "../../src/home.ts";
import { diskState, readDisk } from "../data/disk.ts";
import { ExpectedWrites } from "./expected-writes.ts";
import { FileRoom } from "./file-room.ts";

const LOOK_EVERY_MS = 1_000;

const SAID: Record<Disk["state"], string> = {
  ok: "The disk that holds the data has enough space again.",
  low: "The disk that holds the data has little space left",
  full: "The disk that holds the data is full, or can only be read: new jobs are refused until it can be written",
};

export interface DiskWatch {
  readonly disk: () => Disk;
  /** A request with so many bytes has begun; call the result when it has ended: what has not come is not written. */
  readonly expectWrite: (bodyBytes: number, arrivedBytes?: () => number) => () => void;
  /** For the bytes of files, which count as they pass and not before. */
  readonly files: FileRoom;
  readonly stop: () => void;
}

/** If the file system does not answer, the last state stays. */
const lookAgain = (look: () => Disk, last: Disk): Disk => {
  try {
    return look();
  } catch {
    return last;
  }
};

/** Logs each change of state once. */
export const watchDisk = (directory: string, look: () => Disk = () => readDisk(directory)): DiskWatch => {
  const expected = new ExpectedWrites();
  let seen = look();
  const disk = (): Disk => {
    const { freeBytes, totalBytes } = seen;
    return { freeBytes, totalBytes, state: diskState(freeBytes - expected.bytes, totalBytes) };
  };
  let said: Disk["state"] = "ok";
  const sayIfChanged = (): void => {
    const { state, freeBytes } = disk();
    if (state === said) return;
    said = state;
    const left = state === "ok" ? "" : ` (${Math.floor(freeBytes / MIB)} MiB left in ${directory}).`;
    log(state === "ok" ? "info" : "error", `disk.${state}`, { detail: `${SAID[state]}${left}` });
  };
  sayIfChanged();
  const timer = setInterval(() => {
    seen = lookAgain(look, seen);
    expected.noteLook();
    sayIfChanged();
  }, LOOK_EVERY_MS);
  timer.unref();
  return {
    disk,
    expectWrite: (bodyBytes, arrived) => expected.add(bodyBytes, arrived),
    files: new FileRoom((unwrittenBytes) => {
      const { freeBytes, totalBytes } = lookAgain(look, seen);
      return diskState(freeBytes - unwrittenBytes, totalBytes) === "full";
    }),
    stop: () => clearInterval(timer),
  };
};
