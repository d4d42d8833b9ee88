// A backup's archive: a tar (POSIX ustar) of the data folder's files, readable by its owner alone.

import { closeSync, fsyncSync, mkdirSync, openSync, readSync, statSync, writeSync } from "node:fs";
import path from "node:path";
import { BLOCK, paddingOf, TAR_END, tarHeader } from "../../self-host/build/tar.ts";
import { ExitError } from "../../self-host/exit-error.ts";

const CHUNK_BYTES = 1024 * 1024;
const OWNER_ONLY = 0o600;
/** The files of a data folder; nothing else is extracted from an archive. */
const KNOWN_FILE =
  /^(root\.key|signing\.secret|default\.(admin|worker)\.key|written-by\.json|processes\.json|archive\/[a-z0-9-]+\/[\d-]+\/[\w.-]+\.ndjson\.gz|state\/[\w-]+\/[\w.-]+\/[\w.-]+\.sqlite)$/;

/** A disk that becomes full takes a part of what it is given. */
const writeAll = (target: number, bytes: Uint8Array): void => {
  for (let at = 0; at < bytes.length; at += writeSync(target, bytes, at));
};

/** Writes a new file, which is on the disk afterwards; refuses an existing one. */
export const writeArchive = (file: string, root: string, names: readonly string[]): void => {
  const archive = openSync(file, "wx", OWNER_ONLY);
  try {
    for (const name of names) {
      const source = path.join(root, name);
      const { size } = statSync(source);
      writeAll(archive, tarHeader({ name: name.split(path.sep).join("/"), size, mode: OWNER_ONLY }));
      pack(archive, source, size);
      writeAll(archive, paddingOf(size));
    }
    writeAll(archive, TAR_END);
    fsyncSync(archive);
  } finally {
    closeSync(archive);
  }
};

const copyBytes = (source: number, target: number, size: number, ifTooShort: string): void => {
  const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, Math.max(size, 1)));
  for (let left = size; left > 0; ) {
    const read = readSync(source, chunk, 0, Math.min(chunk.length, left), null);
    if (read === 0) throw new ExitError(ifTooShort);
    writeAll(target, chunk.subarray(0, read));
    left -= read;
  }
};

const pack = (archive: number, place: string, size: number): void => {
  const source = openSync(place, "r");
  try {
    copyBytes(source, archive, size, "The file became shorter while it was copied.");
  } finally {
    closeSync(source);
  }
};

const text = (header: Buffer, at: number, length: number): string =>
  header.toString("utf8", at, at + length).replace(/\0.*$/s, "");

/** Extracts into a missing or empty folder; returns the names. */
export const readArchive = (file: string, root: string): string[] => {
  const archive = openSync(file, "r");
  const names: string[] = [];
  try {
    for (;;) {
      const header = Buffer.alloc(BLOCK);
      if (readSync(archive, header, 0, BLOCK, null) < BLOCK) throw new ExitError(`${file} is truncated.`);
      if (header.every((byte: number) => byte === 0)) return names;
      if (text(header, 257, 5) !== "ustar") throw new ExitError(`${file} is not an archive of \`npm run backup\`.`);
      const prefix = text(header, 345, 155);
      const name = prefix === "" ? text(header, 0, 100) : `${prefix}/${text(header, 0, 100)}`;
      if (!KNOWN_FILE.test(name))
        throw new ExitError(`${file} contains ${JSON.stringify(name)}, which does not belong into a data folder.`);
      unpack(archive, path.join(root, name), Number.parseInt(text(header, 124, 12), 8));
      names.push(name);
    }
  } finally {
    closeSync(archive);
  }
};

const unpack = (archive: number, place: string, size: number): void => {
  mkdirSync(path.dirname(place), { recursive: true, mode: 0o700 });
  const target = openSync(place, "wx", OWNER_ONLY);
  try {
    copyBytes(archive, target, size, "The archive is truncated.");
  } finally {
    closeSync(target);
  }
  const padding = paddingOf(size).length;
  if (padding > 0) readSync(archive, Buffer.alloc(padding), 0, padding, null);
};
