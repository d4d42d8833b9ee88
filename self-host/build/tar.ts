// A tar archive (POSIX ustar) of a few files. The same files give the same bytes: no times, no owners.

export interface TarFile {
  /** At most 100 bytes, and 155 more for its folders. */
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly isExecutable: boolean;
}

interface TarEntry {
  readonly name: string;
  readonly size: number;
  readonly mode: number;
}

export const BLOCK = 512;
const MAX_NAME_BYTES = 100;
const MAX_PREFIX_BYTES = 155;
/** npm also uses this time: some unpackers fail before 1980. */
const PACKED_AT_SECONDS = Date.UTC(1985, 9, 26, 8, 15) / 1000;

const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, "0")}\0`;

/** A long name is split at a slash: its folders have a field of their own. */
const divided = (name: string): { prefix: string; last: string } => {
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return { prefix: "", last: name };
  for (let at = name.indexOf("/"); at >= 0; at = name.indexOf("/", at + 1)) {
    const [prefix, last] = [name.slice(0, at), name.slice(at + 1)];
    if (Buffer.byteLength(last) <= MAX_NAME_BYTES && Buffer.byteLength(prefix) <= MAX_PREFIX_BYTES)
      return { prefix, last };
  }
  throw new Error(`${name} is too long for a name in the archive`);
};

/** The padding of a file's last block. */
export const paddingOf = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
export const TAR_END = Buffer.alloc(2 * BLOCK);

export const tarHeader = ({ name, size, mode }: TarEntry): Buffer => {
  const { prefix, last } = divided(name);
  const header = Buffer.alloc(BLOCK);
  const put = (text: string, at: number): void => {
    header.write(text, at, "utf8");
  };
  put(last, 0);
  put(prefix, 345);
  put(octal(mode, 8), 100);
  put(octal(0, 8), 108);
  put(octal(0, 8), 116);
  put(octal(size, 12), 124);
  put(octal(PACKED_AT_SECONDS, 12), 136);
  // The checksum is computed with spaces in its own field.
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
      tarHeader({ name: file.name, size: file.bytes.length, mode: file.isExecutable ? 0o755 : 0o644 }),
      file.bytes,
      paddingOf(file.bytes.length),
    ]),
    TAR_END,
  ]);
