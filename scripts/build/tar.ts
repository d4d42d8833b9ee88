// A tar archive (POSIX ustar) of a few files, the same bytes for the same files: no times, no owners.

export interface TarFile {
  /** At most 100 bytes. */
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly isExecutable: boolean;
}

const BLOCK = 512;
const MAX_NAME_BYTES = 100;
/** npm packs with this time, too: before 1980 some unpackers stumble. */
const PACKED_AT_SECONDS = Date.UTC(1985, 9, 26, 8, 15) / 1000;

const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, "0")}\0`;

const headerOf = ({ name, bytes, isExecutable }: TarFile): Buffer => {
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) throw new Error(`${name} is too long a name for the archive`);
  const header = Buffer.alloc(BLOCK);
  const put = (text: string, at: number): void => {
    header.write(text, at, "utf8");
  };
  put(name, 0);
  put(octal(isExecutable ? 0o755 : 0o644, 8), 100);
  put(octal(0, 8), 108);
  put(octal(0, 8), 116);
  put(octal(bytes.length, 12), 124);
  put(octal(PACKED_AT_SECONDS, 12), 136);
  // The checksum is taken with spaces in its own place.
  put("        ", 148);
  put("0", 156);
  put("ustar\0" + "00", 257);
  const sum = header.reduce((total: number, byte: number) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
};

export const tarOf = (files: readonly TarFile[]): Buffer =>
  Buffer.concat([
    ...files.flatMap((file) => [
      headerOf(file),
      file.bytes,
      Buffer.alloc((BLOCK - (file.bytes.length % BLOCK)) % BLOCK),
    ]),
    Buffer.alloc(2 * BLOCK),
  ]);
