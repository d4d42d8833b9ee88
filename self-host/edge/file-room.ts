// The room on the disk for the bytes of files. One may have 512 MiB and come as fast as the disk takes it, so the disk is
// looked at as they pass, and a file ends before it takes what reports and the killswitch need.

import type { Readable } from "node:stream";
import { MIB } from "../../domain/words/size.ts";

/** What has passed of a file and may not be written yet: rows on their way to the object, and its database's log. */
const UNWRITTEN_BYTES = 12 * MIB;

/** In SQLite's words, because it is the same refusal (`refusalOfLost`). */
const NO_ROOM = "database or disk is full: there is no room for more of a file";

export class FileRoom {
  readonly #isFull: (unwrittenBytes: number) => boolean;
  #unwritten = 0;

  /** `isFull`: whether the disk is full at this moment, with so many bytes that are still to be written. */
  constructor(isFull: (unwrittenBytes: number) => boolean) {
    this.#isFull = isFull;
  }

  /**
   * Calls `refuse` once if the disk is full while bytes pass; the first `freeBytes` pass in any case. Call the result
   * when the file has been written, or is refused.
   */
  watch(file: Readable, refuse: (error: Error) => void, freeBytes = 0): () => void {
    let [unwritten, unlooked] = [0, MIB - freeBytes];
    const take = ({ byteLength }: Uint8Array): void => {
      const more = Math.min(byteLength, UNWRITTEN_BYTES - unwritten);
      unwritten += more;
      this.#unwritten += more;
      unlooked += byteLength;
      if (unlooked < MIB) return;
      unlooked = 0;
      if (!this.#isFull(this.#unwritten)) return;
      file.off("data", take);
      refuse(new Error(NO_ROOM));
    };
    file.on("data", take);
    return () => {
      file.off("data", take);
      this.#unwritten -= unwritten;
      unwritten = 0;
    };
  }
}
