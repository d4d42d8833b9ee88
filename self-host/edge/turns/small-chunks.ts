// Bodies that come in chunks of a few bytes. A chunk costs one or two microseconds, and more where it goes on alone: the
// 64 KiB of one read may have 10,000. Those of one read go on as one piece, and a body that has very many in a read is
// read further when others have had their time. Invariant: no byte is lost, and their order stays.

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** A chunk of so many bytes goes on alone. */
const SMALL_BYTES = 512;
/** Of one read; behind more of them the body waits. A client that sends lines of text as chunks has fewer. */
const FREE_CHUNKS = 1_024;
/** Of the bodies that wait all together: to read a chunk takes a tenth of it. */
const PAUSE_MS_A_CHUNK = 0.03;

interface WaitingBody {
  readonly chunks: number;
  readonly goOn: () => void;
}

/** One body at a time goes on, of each owner (`turn-owner.ts`) in turn. */
export class ChunkTurns {
  readonly #waiting = new Map<string, WaitingBody[]>();
  readonly #sockets = new WeakSet<Socket>();
  #isServing = false;

  /** A connection that sends a second such body before the first goes on is cut off: nothing else keeps it from being read. */
  wait(socket: Socket, owner: string, chunks: number, then: () => void): void {
    if (this.#sockets.has(socket)) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    const goOn = (): void => {
      this.#sockets.delete(socket);
      socket.resume();
      then();
    };
    const own = this.#waiting.get(owner) ?? [];
    own.push({ chunks, goOn });
    this.#waiting.set(owner, own);
    if (!this.#isServing) this.#serve();
  }

  #serve(): void {
    const [next] = this.#waiting;
    const [owner = "", own = []] = next ?? [];
    const [first] = own;
    this.#isServing = first !== undefined;
    if (first === undefined) return;
    setTimeout(() => {
      own.shift();
      this.#waiting.delete(owner);
      if (own.length > 0) this.#waiting.set(owner, own);
      first.goOn();
      this.#serve();
    }, first.chunks * PAUSE_MS_A_CHUNK).unref();
  }
}

interface ChunkTools {
  /** Very many have come in this read. */
  readonly crowded: () => void;
  /** Calls back when a body with so many chunks may go on. */
  readonly wait: (chunks: number, goOn: () => void) => void;
}

/** Call it when the head has come. */
export const gatherSmallChunks = (incoming: IncomingMessage, { crowded, wait }: ChunkTools): void => {
  if (incoming.headers["transfer-encoding"] === undefined) return;
  const push = incoming.push.bind(incoming);
  const read = incoming._read.bind(incoming);
  let gathered: Buffer[] = [];
  let bytes = 0;
  let isGathering = false;
  let isEnded = false;
  /** More was asked for meanwhile, which would read the socket on. */
  let isAsked = false;
  const pass = (): void => {
    const whole = Buffer.concat(gathered);
    gathered = [];
    bytes = 0;
    isGathering = false;
    if (incoming.destroyed) return;
    push(whole);
    if (isEnded) push(null);
    else if (isAsked) read(0);
    isAsked = false;
  };
  const afterRead = (): void => {
    const { length } = gathered;
    if (length >= FREE_CHUNKS) {
      gathered = [Buffer.concat(gathered)];
      wait(length, pass);
    } else pass();
  };
  /** Returns whether the socket is read on, as a stream's own `push` does. */
  const take = (chunk: Buffer): boolean => {
    if (!isGathering && chunk.byteLength >= SMALL_BYTES) return push(chunk);
    if (!isGathering) setImmediate(afterRead);
    isGathering = true;
    gathered.push(chunk);
    bytes += chunk.byteLength;
    if (gathered.length === FREE_CHUNKS) {
      incoming.socket.pause();
      crowded();
    }
    return gathered.length % FREE_CHUNKS > 0 && incoming.readableLength + bytes < incoming.readableHighWaterMark;
  };
  incoming._read = (size) => {
    if (isGathering) isAsked = true;
    else read(size);
  };
  incoming.push = (chunk: Buffer | null): boolean => {
    if (chunk !== null) return take(chunk);
    isEnded = true;
    return isGathering ? false : push(null);
  };
};
