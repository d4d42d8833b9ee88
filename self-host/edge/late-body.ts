// The rest of a body whose request has its answer. Many clients read only when they have sent all of it, and a connection
// that is closed with bytes unread is reset, which loses the answer (RFC 9112, 9.6): the rest is read and dropped, within
// bounds. All such bodies together are read at a pace, a piece of one after another, so that they keep no other waiting.

import type { IncomingMessage, ServerResponse } from "node:http";
import { MAX_FILE_BYTES } from "../../domain/file/file.ts";

/**
 * A file of twice the size that is kept. Silence ends nothing: Node's `fetch` rests for seconds before it sends a long
 * form, and a silent connection costs no more than one without a request.
 */
export const LATE_BODY: LateBounds = { bytes: 2 * MAX_FILE_BYTES, ms: 30_000 };
/** A piece is what one read gives, 64 KiB at most: together 64 MiB a second at most. */
const A_PIECE_EVERY_MS = 1;

interface LateBounds {
  readonly bytes: number;
  readonly ms: number;
}

/** Those that wait to be read on. */
class Pace {
  readonly #waiting: (() => void)[] = [];

  wait(goOn: () => void): void {
    this.#waiting.push(goOn);
    if (this.#waiting.length === 1) this.#serve();
  }

  #serve(): void {
    setTimeout(() => {
      this.#waiting.shift()?.();
      if (this.#waiting.length > 0) this.#serve();
    }, A_PIECE_EVERY_MS).unref();
  }
}

export class LateBodies {
  readonly #pace = new Pace();
  readonly #bounds: LateBounds;

  constructor(bounds: LateBounds = LATE_BODY) {
    this.#bounds = bounds;
  }

  /** Call it when the head has come. */
  expect(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { "content-length": declared = "0", "transfer-encoding": coding } = incoming.headers;
    if (coding === undefined && declared === "0") return;
    outgoing.prependOnceListener("finish", () => {
      if (!incoming.complete && !incoming.socket.destroyed) this.#drop(incoming, outgoing.shouldKeepAlive);
    });
  }

  /** Node, and the adapter after half a second, end the connection by `destroySoon`: it waits for the rest. */
  #drop(incoming: IncomingMessage, staysOpen: boolean): void {
    const { socket } = incoming;
    let left = this.#bounds.bytes;
    let isWaiting = false;
    const goOn = (): void => {
      isWaiting = false;
      incoming.resume();
    };
    const stop = (): void => {
      clearTimeout(end);
      incoming.off("data", drop).off("end", stop);
      socket.off("close", stop);
      Reflect.deleteProperty(socket, "destroySoon");
      if (!staysOpen || !incoming.complete) socket.destroySoon();
    };
    const drop = (piece: Buffer): void => {
      left -= piece.byteLength;
      if (left < 0) {
        stop();
        return;
      }
      incoming.pause();
      if (!isWaiting) this.#pace.wait(goOn);
      isWaiting = true;
    };
    const end = setTimeout(stop, this.#bounds.ms).unref();
    socket.destroySoon = () => {
      if (!staysOpen) socket.end();
    };
    socket.once("close", stop);
    incoming.on("data", drop).once("end", stop).resume();
  }
}
