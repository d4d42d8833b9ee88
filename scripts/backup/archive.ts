// A backup's archive: a tar (POSIX ustar) of the data folder's files, readable by its owner alone. Its last entry has the
// digest of each, as `sha256sum --check` reads them; archives of earlier releases have none.

import { createHash, type Hash } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { BLOCK, paddingOf, TAR_END, tarHeader } from "../../self-host/build/tar.ts";
import { ExitError } from "../../self-host/exit-error.ts";

const CHUNK_BYTES = 1024 * 1024;
const OWNER_ONLY = 0o600;
const DIGESTS = "SHA256SUMS";
/** The files of a data folder; nothing else is extracted from an archive. */
const KNOWN_FILE =
  /^(root\.key|signing\.secret|default\.(admin|worker)\.key|written-by\.json|processes\.json|archive\/[a-z0-9-]+\/[\d-]+\/[\w.-]+\.ndjson\.gz|state\/[\w-]+\/[\w.-]+\/[\w.-]+\.sqlite)$/;

/** A disk that becomes full takes a part of what it is given. */
const writeAll = (target: number, bytes: Uint8Array): void => {
  for (let at = 0; at < bytes.length; at += writeSync(target, bytes, at));
};

const digestLine = (name: string, hash: Hash): string => `${hash.digest("hex")}  ${name}\n`;

/** Writes a new file, which is on the disk afterwards; refuses an existing one. */
export const writeArchive = (file: string, root: string, names: readonly string[]): void => {
  const archive = openSync(file, "wx", OWNER_ONLY);
  let digests = "";
  try {
    for (const place of names) {
      const source = path.join(root, place);
      const { size } = statSync(source);
      const name = place.split(path.sep).join("/");
      writeAll(archive, tarHeader({ name, size, mode: OWNER_ONLY }));
      digests += digestLine(name, pack(archive, source, size));
      writeAll(archive, paddingOf(size));
    }
    const bytes = Buffer.from(digests);
    writeAll(archive, tarHeader({ name: DIGESTS, size: bytes.length, mode: OWNER_ONLY }));
    for (const part of [bytes, paddingOf(bytes.length), TAR_END]) writeAll(archive, part);
    fsyncSync(archive);
  } finally {
    closeSync(archive);
  }
};

const copyBytes = (source: number, target: number, size: number, ifTooShort: string): Hash => {
  const hash = createHash("sha256");
  const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, Math.max(size, 1)));
  for (let left = size; left > 0; ) {
    const read = readSync(source, chunk, 0, Math.min(chunk.length, left), null);
    if (read === 0) throw new ExitError(ifTooShort);
    writeAll(target, chunk.subarray(0, read));
    hash.update(chunk.subarray(0, read));
    left -= read;
  }
  return hash;
};

const pack = (archive: number, place: string, size: number): Hash => {
  const source = openSync(place, "r");
  try {
    return copyBytes(source, archive, size, "The file became shorter while it was copied.");
  } finally {
    closeSync(source);
  }
};

const text = (header: Buffer, at: number, length: number): string =>
  header.toString("utf8", at, at + length).replace(/\0.*$/s, "");

const noArchive = (file: string): ExitError => new ExitError(`${file} is not an archive of \`npm run backup\`.`);

/** The next entry; null: the end. */
const readHeader = (archive: number, file: string): { name: string; size: number } | null => {
  const header = Buffer.alloc(BLOCK);
  if (readSync(archive, header, 0, BLOCK, null) < BLOCK) throw new ExitError(`${file} is truncated.`);
  if (header.every((byte: number) => byte === 0)) return null;
  if (text(header, 257, 5) !== "ustar") throw noArchive(file);
  const prefix = text(header, 345, 155);
  const name = prefix === "" ? text(header, 0, 100) : `${prefix}/${text(header, 0, 100)}`;
  return { name, size: Number.parseInt(text(header, 124, 12), 8) };
};

/** Extracts into a missing or empty folder; returns the names. */
export const readArchive = (file: string, root: string): string[] => {
  const archive = openSync(file, "r");
  const digests = new Map<string, string>();
  try {
    for (let entry = readHeader(archive, file); entry !== null; entry = readHeader(archive, file)) {
      const { name, size } = entry;
      if (name !== DIGESTS && !KNOWN_FILE.test(name))
        throw new ExitError(`${file} contains ${JSON.stringify(name)}, which does not belong into a data folder.`);
      const place = path.join(root, name);
      const hash = unpack(archive, place, size);
      if (name !== DIGESTS) digests.set(name, digestLine(name, hash));
      else refuseChanged(file, readFileSync(place, "utf8"), digests);
      if (name === DIGESTS) rmSync(place);
    }
  } finally {
    closeSync(archive);
  }
  if (digests.size === 0) throw noArchive(file);
  return [...digests.keys()];
};

/** Between the two, a disk or a copy may have changed what no check of a database finds: what a file holds, a key. */
const refuseChanged = (file: string, kept: string, found: ReadonlyMap<string, string>): void => {
  if (kept === [...found.values()].join("")) return;
  const changed = [...found].find(([, line]) => !kept.includes(line))?.[0] ?? DIGESTS;
  throw new ExitError(`${file} is damaged: ${changed} in it is not as it was backed up.`);
};

const unpack = (archive: number, place: string, size: number): Hash => {
  mkdirSync(path.dirname(place), { recursive: true, mode: 0o700 });
  const target = openSync(place, "wx", OWNER_ONLY);
  let hash: Hash;
  try {
    hash = copyBytes(archive, target, size, "The archive is truncated.");
  } finally {
    closeSync(target);
  }
  const padding = paddingOf(size).length;
  if (padding > 0) readSync(archive, Buffer.alloc(padding), 0, padding, null);
  return hash;
};
