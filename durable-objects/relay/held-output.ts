// The memory that relays take for output, and its bound: of one relay, and of all in this process, which share theirs
// equally. Above it a relay empties windows, and then cuts the readers furthest behind.

import { PROCESS_BYTES, RELAY_BYTES } from "./relay-bounds.ts";
import type { RelayedStream } from "./relayed-stream.ts";
import type { Reader } from "./stream-reader.ts";

/** The relays of this process that hold output. */
const holders = new Set<object>();

export const noteHolder = (relay: object, isHolding: boolean): void => {
  if (isHolding) holders.add(relay);
  else holders.delete(relay);
};

export const boundFor = (holderCount: number): number =>
  Math.min(RELAY_BYTES, Math.floor(PROCESS_BYTES / Math.max(1, holderCount)));

const sumOf = (streams: Iterable<RelayedStream>): number => {
  let bytes = 0;
  for (const { heldBytes } of streams) bytes += heldBytes;
  return bytes;
};

/** Makes a relay fit again; `cut` ends a reader. */
export const makeRoom = (
  streams: ReadonlyMap<string, RelayedStream>,
  cut: (stream: RelayedStream, reader: Reader) => void,
  bound = boundFor(holders.size),
): void => {
  let held = sumOf(streams.values());
  for (const stream of streams.values()) {
    if (held <= bound) return;
    held -= stream.heldBytes;
    stream.emptyWindow();
    held += stream.heldBytes;
  }
  const behind = [...streams.values()].flatMap((stream) =>
    [...stream.readers].map((reader) => ({ stream, reader, unreadBytes: reader.unreadBytes })),
  );
  for (const { stream, reader } of behind.sort((a, b) => b.unreadBytes - a.unreadBytes)) {
    if (held <= bound) return;
    held -= stream.heldBytes;
    cut(stream, reader);
    held += stream.heldBytes;
  }
};
