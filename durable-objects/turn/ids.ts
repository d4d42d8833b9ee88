// Time-ordered ids (UUID version 7, RFC 9562) that increase within one object even within a millisecond, so that the
// jobs of a batch keep their order. The random part comes from the caller.

import { HEX } from "../../domain/words/hex.ts";

const MAX_SEQUENCE = 0xfff;
const RANDOM_BYTES = 8;
/** Asking the platform for random bytes costs more than the rest of an id. */
const IDS_A_DRAW = 64;

export const idSource = (randomBytes: (count: number) => Uint8Array) => {
  let lastMs = 0;
  let time = "";
  let sequence = 0;
  let drawn: Uint8Array = new Uint8Array(0);
  let used = 0;
  return (nowAt: number): string => {
    if (nowAt <= lastMs && sequence < MAX_SEQUENCE) sequence += 1;
    else {
      lastMs = Math.max(nowAt, lastMs + 1);
      sequence = 0;
      const digits = lastMs.toString(16).padStart(12, "0");
      time = `${digits.slice(0, 8)}-${digits.slice(8)}`;
    }
    const middle = sequence.toString(16).padStart(3, "0");
    if (used === drawn.length) {
      drawn = randomBytes(RANDOM_BYTES * IDS_A_DRAW);
      used = 0;
    }
    drawn[used] = ((drawn[used] ?? 0) & 0x3f) | 0x80;
    let tail = "";
    for (const end = used + RANDOM_BYTES; used < end; used += 1) tail += HEX[drawn[used] ?? 0];
    return `${time}-7${middle}-${tail.slice(0, 4)}-${tail.slice(4)}`;
  };
};
