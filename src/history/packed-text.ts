// A long text of history, compressed: a BLOB in its own column, in place of the text. It begins with how many characters
// it has and how many bytes its first part takes, which is what a list may show; then come that part and the rest.

import { MAX_LISTED_CHARS } from "../../contract/jobs/job-list.ts";
import { startOf } from "../../contract/text/start-of.ts";
import { bytesOfHex, hexOf } from "../../domain/words/hex.ts";
import { through } from "./through.ts";

/** Shorter ones gain too little. */
export const MIN_PACKED_CHARS = 1_024;
/** A text that shrinks less stays as it is: reading it packed would cost more than the saved room is worth. */
const MAX_SHARE = 0.8;
const DIGITS = 9;
const HEAD_BYTES = 2 * (DIGITS + 1);

const numberAt = (column: string, at: number): string =>
  `CAST(CAST(substr(${column}, ${at}, ${DIGITS}) AS TEXT) AS INTEGER)`;

export const isPacked = (column: string): string => `typeof(${column}) = 'blob'`;
export const charsOf = (column: string): string =>
  `iif(${isPacked(column)}, ${numberAt(column, 1)}, length(${column}))`;
/** The text itself; null if it is packed. */
export const plainOf = (column: string): string => `iif(${isPacked(column)}, NULL, ${column})`;
/** Null if it is not packed. */
export const packedOf = (column: string): string => `iif(${isPacked(column)}, hex(${column}), NULL)`;
/** The same without what no list shows. */
export const packedStartOf = (column: string): string =>
  `iif(${isPacked(column)}, hex(substr(${column}, 1, ${HEAD_BYTES} + ${numberAt(column, DIGITS + 2)})), NULL)`;

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(new TextEncoder().encode(text));
const squeezed = async (text: string): Promise<Uint8Array<ArrayBuffer>> =>
  text === "" ? new Uint8Array() : through(bytesOf(text), new CompressionStream("deflate"));
/** A part may begin with U+FEFF, which is a character of the text. */
const expanded = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> =>
  bytes.length === 0
    ? ""
    : new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(
        await through(bytes, new DecompressionStream("deflate")),
      );

const digits = (value: number): string => String(value).padStart(DIGITS, "0");

/** In hexadecimal digits; null if it stays as it is. */
export const pack = async (text: string): Promise<string | null> => {
  const shown = startOf(text, MAX_LISTED_CHARS);
  const [start, rest] = [await squeezed(shown), await squeezed(text.slice(shown.length))];
  if (start.length + rest.length + HEAD_BYTES > MAX_SHARE * bytesOf(text).length) return null;
  // As SQLite counts characters.
  const chars = [...text].length;
  return hexOf(bytesOf(`${digits(chars)}:${digits(start.length)}:`)) + hexOf(start) + hexOf(rest);
};

/** The text, as much of it as was read; empty if nothing was packed. */
export const unpack = async (hex: string | null): Promise<string> => {
  if (hex === null) return "";
  const bytes = bytesOfHex(hex);
  const [, startBytes] = new TextDecoder().decode(bytes.slice(0, HEAD_BYTES)).split(":");
  const restAt = HEAD_BYTES + Number(startBytes);
  return (await expanded(bytes.slice(HEAD_BYTES, restAt))) + (await expanded(bytes.slice(restAt)));
};
