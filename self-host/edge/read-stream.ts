// One stream that a client reads. Where its answer is the stream itself, its pieces are written to the client at once: a
// stream of the platform's between them costs a chunk more than its parsing. What its client does not take waits here.

import type { ServerResponse } from "node:http";
import { type LastWords, WholeEvents } from "../../contract/text/whole-events.ts";
import { OK } from "../../contract/words/http-status.ts";
import { costOf } from "../../durable-objects/sockets/reading-frames.ts";
import { alreadySent, type Exchange } from "./pass-on.ts";

interface ReaderTools {
  readonly took: (bytes: number) => void;
  readonly left: () => void;
}

/** What it is written to. */
interface Sink {
  /** Returns whether there is room for more; else `resume` follows. */
  readonly write: (bytes: Uint8Array) => boolean;
  readonly end: () => void;
  readonly fail: (error: Error) => void;
}

const streamOf = new WeakMap<ReadableStream, ReadStream>();

export class ReadStream {
  readonly #ifLost: LastWords | undefined;
  readonly #tools: ReaderTools;
  readonly #events: WholeEvents | null;
  readonly #begun = Promise.withResolvers<number>();
  #pieces: Uint8Array[] = [];
  #isWhole = false;
  #failure: Error | null = null;
  #isSlow = false;
  #sink: Sink | null = null;
  #hasRoom = false;
  readonly body: ReadableStream<Uint8Array>;

  constructor(ifLost: LastWords | undefined, tools: ReaderTools) {
    this.#ifLost = ifLost;
    this.#tools = tools;
    this.#events = ifLost === undefined ? null : new WholeEvents();
    const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => this.pour(sinkInto(controller));
    const body = { start, pull: () => this.resume(), cancel: () => tools.left() };
    this.body = new ReadableStream(body, { highWaterMark: 0 });
    streamOf.set(this.body, this);
  }

  get status(): Promise<number> {
    return this.#begun.promise;
  }

  begin(): void {
    this.#begun.resolve(OK);
  }

  refuse(status: number): void {
    this.#begun.resolve(status);
  }

  give(bytes: Uint8Array): void {
    this.#pieces.push(bytes);
    this.#move();
  }

  end(): void {
    this.#isWhole = true;
    this.#move();
  }

  /** `isSlow`: its client left more unread than it may. */
  break(failure: Error, isSlow = false): void {
    this.#isSlow = isSlow;
    this.#failure = failure;
    this.#begun.reject(failure);
    this.#move();
  }

  /** From now on it is written to this; it has room when `resume` is called. */
  pour(sink: Sink): void {
    this.#sink = sink;
  }

  resume(): void {
    this.#hasRoom = true;
    this.#move();
  }

  leave(): void {
    this.#tools.left();
  }

  #move(): void {
    while (this.#sink !== null && this.#hasRoom) {
      const bytes = this.#pieces.shift();
      if (bytes === undefined) {
        this.#conclude(this.#sink);
        break;
      }
      this.#tools.took(costOf(bytes));
      const passed = this.#events?.take(bytes) ?? bytes;
      if (passed.byteLength > 0) this.#hasRoom = this.#sink.write(passed);
    }
  }

  /** All that came has been written. */
  #conclude(sink: Sink): void {
    if (this.#isWhole) this.#endWith(sink, this.#events?.rest());
    else if (this.#failure === null) return;
    else if (this.#ifLost === undefined || this.#events === null) sink.fail(this.#failure);
    else this.#endWith(sink, new TextEncoder().encode(this.#ifLost(this.#events.last(), this.#isSlow)));
    this.#sink = null;
  }

  #endWith(sink: Sink, last: Uint8Array = new Uint8Array()): void {
    if (last.byteLength > 0) sink.write(last);
    sink.end();
  }
}

const sinkInto = (controller: ReadableStreamDefaultController<Uint8Array>): Sink => ({
  write: (bytes) => {
    controller.enqueue(bytes);
    return false;
  },
  end: () => controller.close(),
  fail: (error) => controller.error(error),
});

/** Writes an answer of the front door itself if its body is such a stream; returns what is left to send. */
export const pourOut = (
  answered: Response | Promise<Response>,
  { incoming, outgoing }: Exchange,
): Response | Promise<Response> => {
  // To look at any other answer costs more than to send it.
  const mayStream = incoming.method === "POST" && incoming.url?.startsWith("/v1/");
  return mayStream ? Promise.resolve(answered).then((answer) => pour(answer, outgoing)) : answered;
};

const pour = (answer: Response, outgoing: ServerResponse): Response => {
  const isStream = answer.headers.get("content-type")?.startsWith("text/event-stream");
  const stream = isStream && answer.body !== null ? streamOf.get(answer.body) : undefined;
  if (stream === undefined) return answer;
  const resume = (): void => stream.resume();
  const { socket } = outgoing;
  socket?.on("drain", resume);
  outgoing.once("close", () => {
    socket?.off("drain", resume);
    stream.leave();
  });
  outgoing.on("error", () => outgoing.destroy());
  outgoing.on("drain", resume);
  if (outgoing.destroyed) stream.leave();
  else begin(stream, answer, outgoing);
  return alreadySent();
};

/** The head goes with the first piece, if that is there. */
const begin = (stream: ReadStream, { status, headers }: Response, outgoing: ServerResponse): void => {
  outgoing.writeHead(status, Object.fromEntries(headers));
  stream.pour({
    write: writerOf(outgoing),
    end: () => outgoing.end(),
    fail: () => outgoing.destroy(),
  });
  stream.resume();
  if (!outgoing.writableEnded) outgoing.flushHeaders();
};

/**
 * Behind the first piece each is a chunk in one buffer: the response's own `write` makes three, which cost a tenth more.
 * An answer that waits for the one before it on its connection has no socket yet.
 */
const writerOf = (outgoing: ServerResponse): Sink["write"] => {
  const { socket } = outgoing;
  let isFirst = true;
  return (bytes) => {
    if (!isFirst && outgoing.chunkedEncoding && socket !== null) return socket.write(chunkOf(bytes));
    isFirst = false;
    return outgoing.write(bytes);
  };
};

const LINE_END = "\r\n";

const chunkOf = (bytes: Uint8Array): Buffer => {
  const head = bytes.byteLength.toString(16) + LINE_END;
  const chunk = Buffer.allocUnsafe(head.length + bytes.byteLength + LINE_END.length);
  chunk.write(head, "latin1");
  chunk.set(bytes, head.length);
  chunk.write(LINE_END, chunk.length - LINE_END.length, "latin1");
  return chunk;
};
