// One connection to one of our own workerd processes: a request, its whole answer, the next request. It reads what
// workerd sends for a text (a head with Content-Length, then the body) and takes a third of a general client's time,
// which every query of history pays. Anything else ends the connection. Invariant: each request gets its own answer, or
// an error.

import { connect, type Socket } from "node:net";

const END_OF_HEAD = "\r\n\r\n";
const CONTENT_LENGTH = /\r\ncontent-length: (\d+)\r\n/i;
/** Longer than any query takes; a process that is silent for longer hangs. An idle connection is closed then. */
const SILENT_MS = 60_000;
/** workerd closes an idle connection after 15 s: a request sent at that moment would be lost. */
const REUSED_WITHIN_MS = 10_000;

interface PendingRequest {
  readonly resolve: (answer: string) => void;
  readonly reject: (error: Error) => void;
}

export class TextConnection {
  readonly #socket: Socket;
  #asked: PendingRequest | null = null;
  #received: Buffer[] = [];
  /** Bytes of the answer that are still to come; null before its head is complete. */
  #missing: number | null = null;
  #bodyAt = 0;
  #answeredAt = 0;

  constructor(socketPath: string, onClose: (connection: TextConnection) => void) {
    let failure = new Error("the process closed the connection");
    this.#socket = connect(socketPath);
    this.#socket.setTimeout(SILENT_MS, () => this.#socket.destroy(new Error("the process does not answer")));
    this.#socket.on("data", (bytes: Buffer) => this.#read(bytes));
    this.#socket.on("error", (error) => {
      failure = error;
    });
    this.#socket.on("close", () => {
      onClose(this);
      this.#asked?.reject(failure);
      this.#asked = null;
    });
  }

  /** `head` is the request line and its headers; one request at a time. */
  ask(head: string, body: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#asked = { resolve, reject };
      this.#socket.write(`${head}content-length: ${Buffer.byteLength(body)}${END_OF_HEAD}${body}`);
    });
  }

  /** Whether it may bear one more request. */
  isFresh(): boolean {
    return performance.now() < this.#answeredAt + REUSED_WITHIN_MS;
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer): void {
    this.#received.push(bytes);
    if (this.#missing === null) this.#readHead();
    else this.#missing -= bytes.length;
    if (this.#missing === null || this.#missing > 0) return;
    const asked = this.#asked;
    // An answer without a request, or more than an answer.
    if (asked === null || this.#missing < 0) return void this.#socket.destroy(new Error("not an answer"));
    const text = this.#whole().toString("utf8", this.#bodyAt);
    this.#asked = null;
    this.#received = [];
    this.#missing = null;
    this.#answeredAt = performance.now();
    asked.resolve(text);
  }

  #readHead(): void {
    const received = this.#whole();
    const end = received.indexOf(END_OF_HEAD);
    if (end < 0) return;
    const length = CONTENT_LENGTH.exec(received.toString("latin1", 0, end + 2))?.[1];
    this.#bodyAt = end + END_OF_HEAD.length;
    this.#missing = length === undefined ? -1 : Number(length) - (received.length - this.#bodyAt);
    this.#received = [received];
  }

  #whole(): Buffer {
    const [first] = this.#received;
    return this.#received.length === 1 && first !== undefined ? first : Buffer.concat(this.#received);
  }
}
