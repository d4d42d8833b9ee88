// An answer's body that is written piece by piece. Each piece waits for the one before, so a reader that takes a
// comment slowly still gets the next event.

export interface WrittenBody {
  readonly readable: ReadableStream<Uint8Array>;
  readonly write: (text: string) => Promise<void>;
  /** Writes the text again and again, until the returned function is called; a reader that is gone does not matter. */
  readonly writeEvery: (ms: number, text: string) => () => void;
  readonly pipe: (source: ReadableStream<Uint8Array>, options: StreamPipeOptions) => Promise<void>;
  readonly close: () => Promise<void>;
  /** Breaks the connection, even while a reader leaves a piece untaken. */
  readonly abort: (reason?: unknown) => Promise<void>;
}

interface Pipe {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

export const writtenBody = ({ readable, writable }: Pipe = new TransformStream()): WrittenBody => {
  const encoder = new TextEncoder();
  let writer: WritableStreamDefaultWriter<Uint8Array> | null = null;
  let last: Promise<unknown> = Promise.resolve();
  const next = (step: () => Promise<void>): Promise<void> => {
    const done = last.then(step);
    last = done.catch(() => undefined);
    return done;
  };
  const write = (text: string): Promise<void> =>
    next(async () => {
      const held = writable.getWriter();
      writer = held;
      await held.write(encoder.encode(text)).finally(() => {
        held.releaseLock();
        writer = null;
      });
    });
  const writeEvery = (ms: number, text: string): (() => void) => {
    const ticking = setInterval(() => void write(text).catch(() => undefined), ms);
    return () => clearInterval(ticking);
  };
  return {
    readable,
    write,
    writeEvery,
    pipe: (source, options) => next(() => source.pipeTo(writable, options)),
    close: () => next(() => writable.close()),
    abort: (reason) => (writer ?? writable).abort(reason),
  };
};
