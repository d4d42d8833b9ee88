// One of our own workerd processes with objects, behind its private door: calls and clients' sockets on a line to each
// object, streams by HTTP.

import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { pipeline, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { LastWords } from "../../contract/text/whole-events.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import type { Result } from "../../domain/words/result.ts";
import { linesOf } from "../../durable-objects/calls/grouped-calls.ts";
import { ALONE, GROUP, LINE_URL } from "../../durable-objects/sockets/object-line.ts";
import { READ_URL } from "../../durable-objects/sockets/reading-frames.ts";
import type { SocketOpening } from "../../src/home.ts";
import type { ClientSocket } from "./client-sockets.ts";
import type { FileRoom } from "./file-room.ts";
import type { Paces } from "./frames/pace.ts";
import { ObjectLine } from "./object-line.ts";
import { ObjectLines } from "./object-lines.ts";
import { processAway } from "./process-away.ts";
import { streamedBytes } from "./streamed-bytes.ts";
import type { FairTurns } from "./turns/fair-turns.ts";
import { TickTurns } from "./turns/tick-turns.ts";

export interface StreamedRequest {
  readonly method?: string;
  readonly body?: ReadableStream<Uint8Array> | null;
  /** What its answer ends with if the process ends before it does; without this such an answer fails. */
  readonly ifLost?: LastWords;
}

/** The parts of an answer that the app reads. */
export interface Streamed {
  readonly status: number;
  readonly body: ReadableStream<Uint8Array>;
  readonly text: () => Promise<string>;
}

/** They take a millisecond or two. */
const READ_BYTES_A_TURN = 128 * 1024;
/** What a read costs at least, in bytes. Few streams of tokens have bytes in the same turn. */
const LEAST_READ_BYTES = 8 * 1024;

/** In each method, `path` is the object's: `/<binding>/<name>`. */
export class ObjectProcess {
  readonly #socketPath: string;
  readonly #secret: string;
  readonly #lines = new ObjectLines((path, onEnd) => this.#openLine(path, onEnd));
  /** Each request has a connection of its own: workerd closes an idle one, and a request sent just then would be lost. */
  readonly #agent = new Agent();
  readonly #readTurns = new TickTurns(() => READ_BYTES_A_TURN);
  readonly #paces: Paces;
  readonly #turns: FairTurns;
  readonly #files: FileRoom;
  #isLeft = false;
  #isClosed = false;

  constructor(socketPath: string, secret: string, paces: Paces, turns: FairTurns, files: FileRoom) {
    this.#socketPath = socketPath;
    this.#secret = secret;
    this.#paces = paces;
    this.#turns = turns;
    this.#files = files;
  }

  /** Sends a group of calls to a tenant; resolves to a line for each outcome. */
  async sendGroup(path: string, group: string): Promise<readonly string[]> {
    return linesOf(await this.#lines.to(path).ask(GROUP, group));
  }

  /** Sends one call that may wait; resolves to the line of its outcome. */
  async sendAlone(path: string, call: string): Promise<string> {
    this.#refuseIf(this.#isLeft);
    return this.#lines.to(path).ask(ALONE, call);
  }

  /** Calls an object's method, which may wait before it answers. */
  async call(path: string, method: string, args: readonly unknown[]): Promise<unknown> {
    this.#refuseIf(this.#isLeft);
    return this.#lines.to(path).call(method, args);
  }

  /** Opens a client's socket to a tenant (`client-sockets.ts`). */
  async openSocket(
    path: string,
    opening: SocketOpening,
    upgrade: () => ClientSocket | null,
  ): Promise<Result<null, Refusal>> {
    this.#refuseIf(this.#isLeft);
    return this.#lines.to(path).sockets.open(opening, upgrade);
  }

  /** Sends a request to an object. Its answer may begin at any time and stream for any time. */
  async fetch(path: string, url: string, asked: StreamedRequest = {}): Promise<Streamed> {
    this.#refuseIf(this.#isLeft);
    if (url.startsWith(READ_URL)) return this.#read(path, url.slice(READ_URL.length), asked.ifLost);
    const { method = "GET", body } = asked;
    const headers = this.#headers(url);
    const tenant = tenantOf(path);
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request({ socketPath: this.#socketPath, agent: this.#agent, path, method, headers }, resolve);
      sent.on("error", (error) => reject(processAway(error)));
      if (body) this.#send(Readable.fromWeb(body as never), sent, reject);
      else sent.end();
    });
    // The reader gets the error; no other listener is needed.
    answer.on("error", () => undefined);
    const takeTurn = (bytes: number) => this.#readTurns.take(tenant, Math.max(bytes, LEAST_READ_BYTES));
    let bytes: ReadableStream<Uint8Array> | null = null;
    return {
      status: answer.statusCode ?? 0,
      get body() {
        bytes ??= streamedBytes(answer, takeTurn);
        return bytes;
      },
      text: () => text(answer),
    };
  }

  #send(body: Readable, sent: ClientRequest, reject: (error: Error) => void): void {
    const end = this.#files.watch(body, (error) => {
      reject(error);
      sent.destroy();
    });
    pipeline(body, sent, end);
  }

  async #read(path: string, query: string, ifLost?: LastWords): Promise<Streamed> {
    const answer = await this.#lines.to(path).streams.read(query, ifLost);
    return { ...answer, text: async () => "" };
  }

  /** Fails what is under way, and from now on whatever may wait: `sendGroup` can still tell who has left. */
  leave(): void {
    this.#isLeft = true;
    this.#lines.close();
    this.#agent.destroy();
  }

  close(): void {
    this.leave();
    this.#isClosed = true;
  }

  #refuseIf(isOver: boolean): void {
    if (isOver) throw processAway(new Error("the server stops"));
  }

  #openLine(path: string, onEnd: (line: ObjectLine) => void): ObjectLine {
    this.#refuseIf(this.#isClosed);
    const tenant = tenantOf(path);
    const pace = {
      takeTurn: (bytes: number) => this.#readTurns.take(tenant, bytes),
      // What a hosted provider says comes from no data line.
      noteRead: (bytes: number) => path.startsWith("/RELAY/") && this.#paces.noteRead(tenant, bytes),
    };
    const takeTurn = () => this.#turns.take(tenant, "telling");
    const opening = { socketPath: this.#socketPath, path, headers: this.#headers(LINE_URL), pace, takeTurn };
    return new ObjectLine(opening, onEnd);
  }

  /** `url`: what the object is asked. */
  #headers(url: string): Record<string, string> {
    return { host: "workerd", authorization: this.#secret, "x-signalbox-url": url };
  }
}

/** An object's name begins with its tenant's. */
const tenantOf = (path: string): string => path.split("/")[2]?.split("%2F")[0] ?? "";
