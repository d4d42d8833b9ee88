// Bytes a second of a download, over the last few seconds.

const WINDOW_MS = 5_000;

export class Speed {
  #marks: { bytes: number; atMs: number }[] = [];

  /** Notes how many bytes there are now; null while too little is known. */
  at(bytes: number, nowMs: number): number | null {
    const recent = this.#marks.filter(({ atMs }) => nowMs - atMs <= WINDOW_MS);
    const [oldest] = recent;
    const last = recent.at(-1);
    // One mark a tenth of the window is enough.
    this.#marks =
      last !== undefined && nowMs - last.atMs < WINDOW_MS / 10 ? recent : [...recent, { bytes, atMs: nowMs }];
    if (oldest === undefined || nowMs <= oldest.atMs) return null;
    return Math.max(0, Math.round(((bytes - oldest.bytes) * 1000) / (nowMs - oldest.atMs)));
  }
}
