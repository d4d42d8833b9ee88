// An HTTP/1.1 keep-alive connection with one request at a time. Written for the benchmarks: it costs a fraction of a
// general client, so that the server is measured.

import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface Answer {
  status: number;
  text: string;
}

const HEAD_END = "\r\n\r\n";

export class Connection {
  readonly #socket: Socket;
  readonly #head: string;
  #received: Buffer = Buffer.alloc(0);
  #settle: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | null = null;

  private constructor(socket: Socket, authorization: string | null) {
    this.#socket = socket;
    this.#head = `host: bench\r\n${authorization === null ? "" : `authorization: ${authorization}\r\n`}`;
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("the server closed the connection")));
  }

  static async open(port: number, authorization: string | null = null): Promise<Connection> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    await once(socket, "connect");
    return new Connection(socket, authorization);
  }

  request(method: string, path: string, body?: unknown): Promise<Answer> {
    const text = body === undefined ? "" : JSON.stringify(body);
    const entity =
      body === undefined ? "" : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n`;
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) throw new Error("the server has closed the connection");
      this.#settle = { resolve, reject };
      this.#socket.write(`${method} ${path} HTTP/1.1\r\n${this.#head}${entity}\r\n${text}`);
    });
  }

  /** The JSON of an answer with the expected status. */
  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const { status, text } = await this.request(method, path, body);
    if (status !== 200 && status !== 201) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 500)}`);
    return text === "" ? null : JSON.parse(text);
  }

  close(): void {
    this.#settle = null;
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    this.#settle?.reject(error);
    this.#settle = null;
  }

  #read(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd === -1) return;
    const head = this.#received.toString("latin1", 0, headEnd).toLowerCase();
    const bodyAt = headEnd + HEAD_END.length;
    const body = head.includes("transfer-encoding: chunked")
      ? chunkedBody(this.#received, bodyAt)
      : sizedBody(this.#received, bodyAt, head);
    if (body === null) return;
    this.#received = Buffer.alloc(0);
    const settle = this.#settle;
    this.#settle = null;
    settle?.resolve({ status: Number(head.slice(9, 12)), text: body });
  }
}

/** Null while it is incomplete. */
const sizedBody = (received: Buffer, bodyAt: number, head: string): string | null => {
  const length = Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? 0);
  return received.length < bodyAt + length ? null : received.toString("utf8", bodyAt, bodyAt + length);
};

const chunkedBody = (received: Buffer, bodyAt: number): string | null => {
  const chunks: Buffer[] = [];
  for (let at = bodyAt; ; ) {
    const lineEnd = received.indexOf("\r\n", at);
    if (lineEnd === -1) return null;
    const size = Number.parseInt(received.toString("latin1", at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (received.length < next) return null;
    if (size === 0) return Buffer.concat(chunks).toString("utf8");
    chunks.push(received.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
};
