// The memory that relays take for output, and its bound: of one relay, and of all in this process, where each has an
// equal share and, beyond it, half of what the others leave. Above it a relay empties windows, and then cuts the readers
// furthest behind.

import { PROCESS_BYTES, RELAY_BYTES } from "./relay-bounds.ts";
import type { RelayedStream } from "./relayed-stream.ts";
import type { Reader } from "./stream-reader.ts";

/** By id, the relays of this process that hold output, and the bytes that each held when it was last weighed. */
const holders = new Map<string, number>();
let heldByAll = 0;

export const noteHolder = (relay: string, heldBytes = holders.get(relay) ?? 0): void => {
  heldByAll += heldBytes - (holders.get(relay) ?? 0);
  holders.set(relay, heldBytes);
};

export const forgetHolder = (relay: string): void => {
  noteHolder(relay, 0);
  holders.delete(relay);
};

/** Half, because several may begin at once to take what is left. */
export const boundFor = (relay: string): number => {
  const share = PROCESS_BYTES / Math.max(1, holders.size);
  const left = PROCESS_BYTES - (heldByAll - (holders.get(relay) ?? 0));
  return Math.min(RELAY_BYTES, Math.floor(Math.max(share, left / 2)));
};

const sumOf = (streams: Iterable<RelayedStream>): number => {
  let bytes = 0;
  for (const { heldBytes } of streams) bytes += heldBytes;
  return bytes;
};

/** Makes a relay fit again, and returns what it holds then; `cut` ends a reader. */
export const makeRoom = (
  streams: ReadonlyMap<string, RelayedStream>,
  cut: (stream: RelayedStream, reader: Reader) => void,
  bound: number,
): number => {
  let held = sumOf(streams.values());
  for (const stream of streams.values()) {
    if (held <= bound) return held;
    held -= stream.heldBytes;
    stream.emptyWindow();
    held += stream.heldBytes;
  }
  const behind = [...streams.values()].flatMap((stream) =>
    [...stream.readers].map((reader) => ({ stream, reader, unreadBytes: reader.unreadBytes })),
  );
  for (const { stream, reader } of behind.sort((a, b) => b.unreadBytes - a.unreadBytes)) {
    if (held <= bound) return held;
    held -= stream.heldBytes;
    cut(stream, reader);
    held += stream.heldBytes;
  }
  return held;
};
