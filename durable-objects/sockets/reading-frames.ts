// What goes on an object's line beside its calls, self-hosted, when the edge in Node reads streams: one line carries all
// readers of an object, because each write to a stream of its own would be an event of the platform, and a system call.
// The edge says lines of text; the object sends bytes: for each part a head of two numbers, its reader and its length, and
// the part. Where there is no part, the second number says what happened.

/** What a reader asks for follows: `relay-request.ts`. */
export const READ_URL = "https://relay/read?";
/** The method of what the edge says of its readers. */
export const READERS = "readers";

/** Of the edge: `read <reader> <query>`, `took <reader> <cost>`, `left <reader>`. */
export type ReadingWord = "read" | "took" | "left";

export const HEAD_BYTES = 8;
/** No part: the stream is whole, or was cut. Below them, a status with the sign turned. */
export const ENDED = -1;
export const CUT = -2;

/** A piece takes more memory than its bytes. */
const PIECE_COST_BYTES = 64;
export const costOf = ({ byteLength }: Uint8Array): number => byteLength + PIECE_COST_BYTES;
/** What the object sends of one reader before the edge has said that the reader took it. */
export const MAX_AWAY_BYTES = 64 * 1024;
