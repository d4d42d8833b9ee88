// How much space the data's disk has left, and what that means.

import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import path from "node:path";
import { MIB } from "../../domain/words/size.ts";
import type { Disk } from "../../src/home.ts";
import { ExitError } from "../exit-error.ts";

/** Below this the disk counts as full: the rest holds thousands of reports and the databases' own logs. */
const FULL_BELOW_BYTES = 64 * MIB;
const LOW_BELOW_BYTES = 1024 * MIB;
/** So that a small disk is not low from the start. */
const LOW_BELOW_SHARE = 0.1;
/** On a very small disk the limits are scaled down. */
const FULL_BELOW_SHARE = 0.05;

export const diskState = (freeBytes: number, totalBytes: number): Disk["state"] => {
  if (freeBytes < Math.min(FULL_BELOW_BYTES, totalBytes * FULL_BELOW_SHARE)) return "full";
  return freeBytes < Math.min(LOW_BELOW_BYTES, totalBytes * LOW_BELOW_SHARE) ? "low" : "ok";
};

/** As a file system makes itself when its disk fails. */
const isReadOnly = (directory: string): boolean => {
  try {
    accessSync(directory, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EROFS";
  }
};

/** A read-only disk has no room, however much of it is free. */
export const readDisk = (directory: string): Disk => {
  const { bavail, blocks, bsize } = statfsSync(directory);
  const freeBytes = isReadOnly(directory) ? 0 : bavail * bsize;
  const totalBytes = blocks * bsize;
  return { freeBytes, totalBytes, state: diskState(freeBytes, totalBytes) };
};

const NO_ROOM = /ENOSPC|SQLITE_FULL|database or disk is full|no space left/i;

/** The failure as a sentence if a full disk is its cause, else null: a read-only disk's own error says enough. */
export const fullDiskError = (error: unknown, directory: string): ExitError | null => {
  const found = nearest(directory);
  if (isReadOnly(found)) return null;
  const disk = diskAt(found);
  const isFull = NO_ROOM.test(String((error as Error).message)) || disk?.state === "full";
  if (!isFull) return null;
  const left = disk === null ? "" : ` (${Math.floor(disk.freeBytes / MIB)} MiB left)`;
  return new ExitError(
    `The disk that holds ${directory} is full${left}: free some space and start again. Nothing is lost.`,
  );
};

/** The folder, or the nearest one above it that exists. */
const nearest = (directory: string): string => {
  const above = path.dirname(directory);
  return existsSync(directory) || above === directory ? directory : nearest(above);
};

const diskAt = (directory: string): Disk | null => {
  try {
    return readDisk(directory);
  } catch {
    return null;
  }
};
