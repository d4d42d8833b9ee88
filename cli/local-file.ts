// Files of this machine that a command reads or writes. What is wrong with one is said in words, before anything is sent.

import { constants, createReadStream, createWriteStream, openAsBlob, type ReadStream } from "node:fs";
import { access, readFile, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Writable } from "node:stream";
import { Failure } from "./failure.ts";

/** As in most programs: stdin, or stdout. */
export const STANDARD = "-";

const WORDS: ReadonlyMap<string | undefined, string> = new Map([
  ["ENOENT", "there is no such file"],
  ["ENOTDIR", "there is no such file"],
  ["EISDIR", "it is a folder"],
  ["EACCES", "its permissions do not allow it"],
  ["EPERM", "its permissions do not allow it"],
  ["EROFS", "its disk is read-only"],
  ["ENOSPC", "the disk is full"],
  ["EDQUOT", "the disk's quota is used up"],
]);

export const failed = (file: string, done: "read" | "written", { code, message }: NodeJS.ErrnoException): Failure =>
  new Failure(`${file} cannot be ${done}: ${WORDS.get(code) ?? message}`);

/** A pipe has no size, and can be read only once. @throws Failure */
const checkReadable = async (file: string): Promise<void> => {
  const found = await Promise.all([stat(file), access(file, constants.R_OK)]).catch((error) => {
    throw failed(file, "read", error);
  });
  if (found[0].isFile()) return;
  const what = found[0].isDirectory() ? "it is a folder" : "it is a pipe or a device: write it into a file first";
  throw new Failure(`${file} cannot be read: ${what}`);
};

/** Its bytes, read while they are sent. @throws Failure */
export const openLocal = async (file: string, type = ""): Promise<Blob> => {
  await checkReadable(file);
  return openAsBlob(file, { type });
};

/** @throws Failure */
export const streamLocal = async (file: string): Promise<ReadStream> => {
  await checkReadable(file);
  return createReadStream(file);
};

/** @throws Failure */
export const readLocal = (file: string): Promise<string> =>
  readFile(file, "utf8").catch((error) => {
    throw failed(file, "read", error);
  });

/** For a file that is written after a long wait. @throws Failure */
export const checkWritable = async (file: string): Promise<void> => {
  const folder = path.dirname(path.resolve(file));
  const [found, around] = await Promise.all([file, folder].map((one) => stat(one).catch(() => null)));
  if (found?.isDirectory()) throw new Failure(`${file} cannot be written: it is a folder`);
  if (!around?.isDirectory()) throw new Failure(`${file} cannot be written: there is no folder ${folder}`);
  await access(found == null ? folder : file, constants.W_OK).catch((error) => {
    throw failed(file, "written", error);
  });
};

/** Whatever its names are. */
export const isSameFile = async (one: string, other: string): Promise<boolean> => {
  const [first, second] = await Promise.all([one, other].map((file) => stat(file).catch(() => null)));
  return first != null && second != null && first.dev === second.dev && first.ino === second.ino;
};

/** Half of a file, or that of an earlier run, must not look like the whole of this one; a device stays. */
export const removeFile = async (file: string): Promise<void> => {
  const found = await stat(file).catch(() => null);
  if (found?.isFile()) await rm(file, { force: true });
};

/** A file that is made, or written over. @throws Failure */
export const writeLocal = async (file: string): Promise<Writable> => {
  if (file === STANDARD) return process.stdout;
  await checkWritable(file);
  return createWriteStream(file);
};
