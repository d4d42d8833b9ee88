// The messages of several sockets, in either direction, as one message on an object's line. The first line has the
// length and the sockets of each text; the texts follow unchanged. Invariant: the messages of one socket stay in order,
// and its close comes last.

/** `text`: null for a frame that is not text. */
interface SharedText {
  readonly text: string | null;
  readonly sockets: readonly number[];
}

interface SocketClose {
  readonly socket: number;
  readonly code: number;
  readonly reason: string;
}

export interface SocketGroup {
  readonly texts: readonly SharedText[];
  readonly closes: readonly SocketClose[];
}

/** `whole`: the sockets of which no text is left. */
interface TakenGroup {
  readonly text: string;
  readonly whole: readonly number[];
}

interface Head {
  readonly texts: readonly (readonly [length: number, sockets: readonly number[]])[];
  readonly closes: readonly SocketClose[];
}

const NOT_TEXT = -1;
/** A group for the object with this much text is sent before more is added: each is a commit. */
const FULL_CHARS = 1_000_000;
/** What a message costs, however short: a group of empty ones must be full, too. */
const CHARS_A_MESSAGE = 64;

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

interface Gathered {
  readonly text: string | null;
  readonly sockets: number[];
}

const costOf = ({ text, sockets }: Gathered): number => (text?.length ?? 0) + sockets.length * CHARS_A_MESSAGE;

/** Collects a group. */
export class SocketGroupWriter {
  readonly #texts: Gathered[] = [];
  readonly #closes: SocketClose[] = [];
  readonly #fullChars: number;
  #chars = 0;

  constructor(fullChars = FULL_CHARS) {
    this.#fullChars = fullChars;
  }

  get isEmpty(): boolean {
    return this.#texts.length === 0 && this.#closes.length === 0;
  }

  get isFull(): boolean {
    return this.#chars >= this.#fullChars;
  }

  /** A text of one socket, for a reader of the group to read even if the text before it was the same. */
  add(socket: number, text: string | null): void {
    const added = { text, sockets: [socket] };
    this.#texts.push(added);
    this.#chars += costOf(added);
  }

  /** A text that several sockets have in a row is written once. */
  share(socket: number, text: string): void {
    const last = this.#texts.at(-1);
    if (last?.text === text) {
      last.sockets.push(socket);
      this.#chars += CHARS_A_MESSAGE;
    } else this.add(socket, text);
  }

  close(close: SocketClose): void {
    this.#closes.push(close);
  }

  /** The group's first text, and so many more that they have `mostChars` together; what is left is the next group. */
  take(mostChars = this.#fullChars): TakenGroup {
    const taken = this.#texts.splice(0, this.#countOf(mostChars));
    const closes = this.#texts.length === 0 ? this.#closes.splice(0) : [];
    const head: Head = { texts: taken.map(({ text, sockets }) => [text?.length ?? NOT_TEXT, sockets]), closes };
    for (const text of taken) this.#chars -= costOf(text);
    const left = new Set(this.#texts.flatMap(({ sockets }) => sockets));
    const whole = taken.flatMap(({ sockets }) => sockets).filter((socket) => !left.has(socket));
    return { text: `${JSON.stringify(head)}\n${taken.map(({ text }) => text ?? "").join("")}`, whole };
  }

  #countOf(mostChars: number): number {
    let chars = 0;
    const over = this.#texts.findIndex((text, index) => {
      chars += costOf(text);
      return index > 0 && chars > mostChars;
    });
    return over < 0 ? this.#texts.length : over;
  }
}
