// What requests under way may still write to the disk. A look at the disk shows only what has been written: without
// this, requests that arrive between two looks could use up the room that reports and the killswitch need.

/** A body is written as a record, as history, and in the logs of both databases: measured 5 times for jobs of 950 KB. */
const WRITTEN_PER_BYTE = 6;
/** For so many looks after its end a request may still be written: history takes it in batches. */
const LOOKS_TO_SETTLE = 5;

export class ExpectedWrites {
  #underWay = 0;
  /** Of requests that have ended, by the look before which they did; the latest first. */
  readonly #settling: number[] = [0];

  /** `arrivedBytes`: how many of them have come. Call the result when the request has ended. */
  add(bodyBytes: number, arrivedBytes: () => number = () => bodyBytes): () => void {
    const bytes = bodyBytes * WRITTEN_PER_BYTE;
    this.#underWay += bytes;
    let isUnderWay = true;
    return () => {
      if (!isUnderWay) return;
      isUnderWay = false;
      this.#underWay -= bytes;
      const written = Math.min(bytes, arrivedBytes() * WRITTEN_PER_BYTE);
      this.#settling[0] = (this.#settling[0] ?? 0) + written;
    };
  }

  get bytes(): number {
    return this.#settling.reduce((sum, bytes) => sum + bytes, this.#underWay);
  }

  /** The disk was looked at. */
  noteLook(): void {
    this.#settling.unshift(0);
    this.#settling.length = Math.min(this.#settling.length, LOOKS_TO_SETTLE);
  }
}
