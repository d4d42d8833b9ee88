// The Unix socket of one of our own workerd processes: groups of calls on a line to each object, other calls by HTTP on
// connections of their own, streams through a general client. A missing answer is an error marked `retryable`, as the
// platform marks its own; the caller knows whether a retry is safe.

import { Agent, type IncomingMessage, request } from "node:http";
import { pipeline, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { Outcome } from "../../../durable-objects/grouped-calls.ts";
import { LINE_URL } from "../../../durable-objects/object-line.ts";
import { LineConnection } from "./line-connection.ts";
import { ObjectLine } from "./object-line.ts";
import { ObjectLines } from "./object-lines.ts";

const URL_HEADER = "x-signalbox-url";

/** The process did not answer: it is not there, or ended first. */
export class ProcessAway extends Error {
  readonly retryable = true;
}

const processAway = (error: Error): ProcessAway => new ProcessAway(error.message, { cause: error });

const away = (error: Error): never => {
  throw processAway(error);
};

export interface StreamedRequest {
  readonly method?: string;
  readonly body?: ReadableStream<Uint8Array> | null;
}

/** The parts of an answer that the app reads. */
export interface Streamed {
  readonly status: number;
  readonly body: ReadableStream<Uint8Array>;
  readonly text: () => Promise<string>;
}

export class PrivateLine {
  readonly #socketPath: string;
  readonly #headers: Record<string, string>;
  readonly #headLines: string;
  readonly #connections = new Set<LineConnection>();
  /** Connections without a request, the last used at the end. */
  readonly #idle: LineConnection[] = [];
  readonly #lines = new ObjectLines((path, onEnd) => this.#openLine(path, onEnd));
  readonly #agent = new Agent({ keepAlive: true });

  constructor(socketPath: string, headers: Record<string, string> = {}) {
    this.#socketPath = socketPath;
    this.#headers = headers;
    this.#headLines = Object.entries({ host: "workerd", ...headers })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("");
  }

  async post(path: string, body: string): Promise<string> {
    const connection = this.#reusable() ?? this.#open();
    const answer = await connection.ask(`POST ${path} HTTP/1.1\r\n${this.#headLines}`, body).catch(away);
    this.#idle.push(connection);
    return answer;
  }

  /** Sends a group of calls to an object. `path` is its `fetch`. */
  async sendGroup(path: string, group: string): Promise<readonly Outcome[]> {
    return JSON.parse(await this.#lines.ask(path, group).catch(away)) as readonly Outcome[];
  }

  /** Calls an object's method, over the private connection. */
  async call(path: string, body: string): Promise<unknown> {
    const text = await this.post(path, body);
    if (text === "") throw new ProcessAway("the private connection gave no answer");
    const outcome = JSON.parse(text) as Outcome;
    if ("thrown" in outcome) throw Object.assign(new Error(outcome.thrown.message), outcome.thrown);
    return outcome.value;
  }

  /** Sends a request to an object. Its answer may begin at any time and stream for any time. */
  async fetch(path: string, url: string, { method = "GET", body }: StreamedRequest = {}): Promise<Streamed> {
    const headers = { ...this.#headers, [URL_HEADER]: url };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const asked = request({ socketPath: this.#socketPath, agent: this.#agent, path, method, headers }, resolve);
      asked.on("error", (error) => reject(processAway(error)));
      if (body) pipeline(Readable.fromWeb(body as never), asked, () => undefined);
      else asked.end();
    });
    // The reader gets the error; no other listener is needed.
    answer.on("error", () => undefined);
    return {
      status: answer.statusCode ?? 0,
      body: Readable.toWeb(answer) as unknown as ReadableStream<Uint8Array>,
      text: () => text(answer),
    };
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
    this.#lines.close();
    this.#agent.destroy();
  }

  /** The connection that was used last; if it is stale, so are all older ones. */
  #reusable(): LineConnection | null {
    const last = this.#idle.pop();
    if (last === undefined || last.isFresh()) return last ?? null;
    last.close();
    for (const older of this.#idle.splice(0)) older.close();
    return null;
  }

  #openLine(path: string, onEnd: (line: ObjectLine) => void): ObjectLine {
    const head = `GET ${path} HTTP/1.1\r\n${this.#headLines}${URL_HEADER}: ${LINE_URL}\r\n`;
    return new ObjectLine(this.#socketPath, head, onEnd);
  }

  #open(): LineConnection {
    const connection = new LineConnection(this.#socketPath, (closed) => {
      this.#connections.delete(closed);
      const at = this.#idle.indexOf(closed);
      if (at >= 0) this.#idle.splice(at, 1);
    });
    this.#connections.add(connection);
    return connection;
  }
}
