// The messages of several sockets, in either direction, as one message on an object's line. The first line has the
// length and the sockets of each text; the texts follow unchanged. Invariant: the messages of one socket stay in order,
// and its close comes last.

/** `text`: null for a frame that is not text. */
export interface SharedText {
  readonly text: string | null;
  readonly sockets: readonly number[];
}

export interface SocketClose {
  readonly socket: number;
  readonly code: number;
  readonly reason: string;
}

export interface SocketGroup {
  readonly texts: readonly SharedText[];
  readonly closes: readonly SocketClose[];
}

interface Head {
  readonly texts: readonly (readonly [length: number, sockets: readonly number[]])[];
  readonly closes: readonly SocketClose[];
}

const NOT_TEXT = -1;
/** A group with this much text is sent before more is added. */
const FULL_CHARS = 1_000_000;

export const readSocketGroup = (message: string): SocketGroup => {
  const end = message.indexOf("\n");
  const { texts, closes } = JSON.parse(message.slice(0, end)) as Head;
  let at = end + 1;
  const shared = texts.map(([length, sockets]): SharedText => {
    if (length === NOT_TEXT) return { text: null, sockets };
    at += length;
    return { text: message.slice(at - length, at), sockets };
  });
  return { texts: shared, closes };
};

/** Collects a group. */
export class SocketGroupWriter {
  #texts: { text: string | null; sockets: number[] }[] = [];
  #closes: SocketClose[] = [];
  #chars = 0;

  get isEmpty(): boolean {
    return this.#texts.length === 0 && this.#closes.length === 0;
  }

  get isFull(): boolean {
    return this.#chars >= FULL_CHARS;
  }

  /** A text that several sockets have in a row is written once. */
  add(socket: number, text: string | null): void {
    const last = this.#texts.at(-1);
    if (last?.text === text) last.sockets.push(socket);
    else {
      this.#texts.push({ text, sockets: [socket] });
      this.#chars += text?.length ?? 0;
    }
  }

  close(close: SocketClose): void {
    this.#closes.push(close);
  }

  /** The group so far; the next one is empty. */
  take(): string {
    const head: Head = {
      texts: this.#texts.map(({ text, sockets }) => [text?.length ?? NOT_TEXT, sockets]),
      closes: this.#closes,
    };
    const message = `${JSON.stringify(head)}\n${this.#texts.map(({ text }) => text ?? "").join("")}`;
    this.#texts = [];
    this.#closes = [];
    this.#chars = 0;
    return message;
  }
}
