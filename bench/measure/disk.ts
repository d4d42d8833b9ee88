// The disk decides what one client waits for, and how much a commit that many share is worth. A virtual machine's disk
// often answers an fsync from a cache, in 50 µs; others take 1 ms or more. So each run tells its disk's fsync, and
// `--fsync-ms` makes every server's fsyncs take longer, by `strace`, for all of them alike.

import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import path from "node:path";

const SAMPLES = 201;
const PAGE = Buffer.alloc(4_096, "x");

/** @returns the median time of an fdatasync after a page of 4 KiB was written, in µs. */
export const fsyncMicroseconds = (folder: string): number => {
  const file = path.join(folder, "fsync");
  const open = openSync(file, "w");
  const times = Array.from({ length: SAMPLES }, (_, at) => {
    writeSync(open, PAGE, 0, PAGE.length, at * PAGE.length);
    const startedAt = performance.now();
    fdatasyncSync(open);
    return (performance.now() - startedAt) * 1_000;
  });
  closeSync(open);
  rmSync(file);
  return times.toSorted((one, other) => one - other)[Math.floor(SAMPLES / 2)] ?? 0;
};

let addedMs = 0;

/** From now on servers are started on a disk whose fsyncs take so much longer. */
export const slowDisk = (ms: number): void => {
  addedMs = ms;
};

/** A server's command, on the slower disk if there is one. `-D` leaves it the child that gets our signals. */
export const onDisk = (command: string, args: readonly string[]): [command: string, args: readonly string[]] => {
  if (addedMs === 0) return [command, args];
  const calls = "fsync,fdatasync";
  const inject = `inject=${calls}:delay_enter=${Math.round(addedMs * 1_000)}`;
  const only = ["-D", "-f", "--seccomp-bpf", "-qqq", "-o", "/dev/null", "-e", `trace=${calls}`, "-e", inject];
  return ["strace", [...only, "--", command, ...args]];
};
