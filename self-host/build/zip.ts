// A zip archive of a few files. The same files give the same bytes: one time for all, no owners.

import { crc32, deflateRawSync } from "node:zlib";

export interface ZipFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The first day that the format can name. */
const DOS_DATE = (0 << 9) | (1 << 5) | 1;
const VERSION = 20;
const UTF8_NAMES = 0x0800;
const DEFLATED = 8;
/** A regular file, readable by all. */
const MODE = 0o100644;
const MADE_ON_UNIX = 3 << 8;

const numbers = (...fields: readonly (readonly [size: 2 | 4, value: number])[]): Buffer =>
  Buffer.concat(
    fields.map(([size, value]) => {
      const bytes = Buffer.alloc(size);
      if (size === 2) bytes.writeUInt16LE(value);
      else bytes.writeUInt32LE(value >>> 0);
      return bytes;
    }),
  );

export const zipOf = (files: readonly ZipFile[]): Buffer => {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, bytes } of files) {
    const packed = deflateRawSync(bytes, { level: 9 });
    const nameBytes = Buffer.from(name);
    const facts = numbers(
      [2, VERSION],
      [2, UTF8_NAMES],
      [2, DEFLATED],
      [2, 0],
      [2, DOS_DATE],
      [4, crc32(bytes)],
      [4, packed.length],
      [4, bytes.length],
      [2, nameBytes.length],
      [2, 0],
    );
    const body = Buffer.concat([numbers([4, 0x04034b50]), facts, nameBytes, packed]);
    const place = numbers([2, 0], [2, 0], [2, 0], [4, MODE << 16], [4, at]);
    directory.push(numbers([4, 0x02014b50], [2, MADE_ON_UNIX | VERSION]), facts, place, nameBytes);
    bodies.push(body);
    at += body.length;
  }
  const index = Buffer.concat(directory);
  const count = files.length;
  const end = numbers([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, index.length], [4, at], [2, 0]);
  return Buffer.concat([...bodies, index, end]);
};
