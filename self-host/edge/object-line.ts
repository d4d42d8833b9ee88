// One line to an object (`durable-objects/sockets/object-line.ts`): a WebSocket through the private door. Several calls
// may be under way; each gets its own answer. Beside them go the frames of clients' sockets, and the streams that clients
// read. Invariant: when the line ends, whatever ended it, every call without an answer fails at once, and sockets and
// streams end.

import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { readOutcome } from "../../durable-objects/calls/grouped-calls.ts";
import { askedText, NO_ANSWER, readAnswered } from "../../durable-objects/sockets/object-line.ts";
import { ClientSockets } from "./client-sockets.ts";
import { MessageReader, textFrame } from "./frames/websocket-frame.ts";
import { processAway } from "./process-away.ts";
import { type ReadPace, ReadStreams } from "./read-streams.ts";

const END_OF_HEAD = "\r\n\r\n";
const SWITCHES_PROTOCOLS = "HTTP/1.1 101 ";
const KEY_BYTES = 16;
const UPGRADE = { upgrade: "websocket", connection: "upgrade", "sec-websocket-version": "13" };

interface PendingCall {
  readonly askedAt: number;
  readonly resolve: (answer: string) => void;
  readonly reject: (error: Error) => void;
}

interface LineOpening {
  readonly socketPath: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of what clients read. */
  readonly pace: ReadPace;
  /** For what clients' sockets say. */
  readonly takeTurn: () => Promise<() => void> | null;
}

export class ObjectLine {
  readonly #socket: Socket;
  readonly takeTurn: LineOpening["takeTurn"];
  readonly sockets: ClientSockets = new ClientSockets(this);
  readonly streams: ReadStreams;
  readonly #messages = new MessageReader();
  /** In the order in which they were asked. */
  readonly #asked = new Map<number, PendingCall>();
  #lastNumber = 0;
  #usedAt = 0;
  /** The answer to the upgrade as far as it has come; null once the line is open. */
  #head: string | null = "";

  constructor({ socketPath, path, headers, pace, takeTurn }: LineOpening, onEnd: (line: ObjectLine) => void) {
    let failure = new Error("the object ended the line");
    this.takeTurn = takeTurn;
    this.streams = new ReadStreams(this, pace);
    this.#socket = connect(socketPath);
    this.#socket.on("data", (bytes: Buffer) => this.#hear(bytes));
    this.#socket.on("error", (error) => {
      failure = error;
    });
    this.#socket.on("drain", () => this.sockets.resume());
    this.#socket.on("close", () => {
      onEnd(this);
      this.sockets.end();
      this.streams.end(failure);
      for (const { reject } of this.#asked.values()) reject(processAway(failure));
    });
    const key = randomBytes(KEY_BYTES).toString("base64");
    const all = Object.entries({ ...headers, ...UPGRADE, "sec-websocket-key": key });
    const lines = all.map(([name, value]) => `${name}: ${value}`);
    this.#socket.write([`GET ${path} HTTP/1.1`, ...lines].join("\r\n") + END_OF_HEAD);
  }

  /** Sent at once, even before the line is open: workerd reads what follows the upgrade as its first messages. */
  ask(method: string, text: string): Promise<string> {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    this.#usedAt = performance.now();
    return new Promise((resolve, reject) => {
      this.#asked.set(number, { askedAt: this.#usedAt, resolve, reject });
      this.#socket.write(textFrame(askedText({ number, method, text })));
    });
  }

  /** Calls an object's method, which may wait before it answers. */
  async call(method: string, args: readonly unknown[]): Promise<unknown> {
    return readOutcome(await this.ask(method, JSON.stringify(args)));
  }

  /** Sends what has no answer. */
  tell(method: string, text: string): void {
    this.#usedAt = performance.now();
    this.#socket.write(textFrame(askedText({ number: NO_ANSWER, method, text })));
  }

  /** What the object has not read. */
  unsentBytes(): number {
    return this.#socket.writableLength;
  }

  /** Reads no further until `resume`. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Whether a call is under way, a socket open, or a stream read. */
  get isBusy(): boolean {
    return this.#asked.size > 0 || this.sockets.size > 0 || this.streams.size > 0;
  }

  /** How long ago it was last used. */
  unusedMs(): number {
    return performance.now() - this.#usedAt;
  }

  /** For how long it has waited for its oldest answer. */
  silentMs(): number {
    const [oldest] = this.#asked.values();
    return oldest === undefined ? 0 : performance.now() - oldest.askedAt;
  }

  close(error?: Error): void {
    this.#socket.destroy(error);
  }

  #hear(bytes: Buffer): void {
    try {
      for (const message of this.#messages.read(this.#afterHead(bytes))) {
        if (typeof message === "string") this.#take(message);
        else this.streams.take(message);
      }
    } catch (error) {
      this.close(error as Error);
    }
  }

  #take(message: string): void {
    const { number, text } = readAnswered(message);
    if (number === NO_ANSWER) this.sockets.take(text);
    else this.#takeAnswer(number, text);
  }

  #takeAnswer(number: number, text: string): void {
    const asked = this.#asked.get(number);
    if (asked === undefined) throw new Error("an answer that nobody asked for");
    this.#asked.delete(number);
    this.#usedAt = performance.now();
    asked.resolve(text);
  }

  #afterHead(bytes: Buffer): Buffer {
    if (this.#head === null) return bytes;
    const before = Buffer.byteLength(this.#head, "latin1");
    const head = this.#head + bytes.toString("latin1");
    const end = head.indexOf(END_OF_HEAD);
    this.#head = end < 0 ? head : null;
    if (end < 0) return bytes.subarray(bytes.length);
    if (!head.startsWith(SWITCHES_PROTOCOLS)) throw new Error("the process opens no line");
    return bytes.subarray(end + END_OF_HEAD.length - before);
  }
}
