// The data line: a second WebSocket, opened with the first streamed job, kept open for the next ones, and reopened when it
// drops under a stream. Streams that had begun on a dropped line end with `stream_lost`: it is unknown what arrived, and a
// text with a gap must not pass for a complete one. Streams that had not begun wait for the next line.

import { setTimeout as delay } from "node:timers/promises";
import type { WebSocket } from "ws";
import { AHEAD_CHARS, type ReaderTook, readerGone, readerTook, type StreamError } from "../../contract/data-line.ts";
import { parseJson } from "../../contract/text/json-object.ts";
import { backoffMs } from "../session/backoff.ts";
import { coordinatorSocket } from "../session/coordinator-socket.ts";
import type { SessionSettings } from "../session/session.ts";
import { FrameGatherer } from "./frame-gatherer.ts";
import { keepAlive } from "./keep-alive.ts";
import { type Streams, type StreamWriter, streamKey, type WhenGone } from "./streams.ts";

const MAX_RECEIVED_BYTES = 1024 * 1024;
const CLOSE_TIMEOUT_MS = 2_000;
/** With this much unsent, the runtimes are not read further. */
const FULL_BYTES = 8 * 1024 * 1024;
const FULL_WAITING_BYTES = 1024 * 1024;
const LOOK_EVERY_MS = 10;
/** An older coordinator tells nothing of what is taken: then a stream that says much waits once. */
const PATIENCE_MS = 5_000;
/** How long a reader waits for a lost line; after that nothing is kept for it. */
const AWAY_MS = 5_000;
/** A line that nothing was said on for so long is closed, until the next streamed job: each takes memory at both ends. */
const IDLE_MS = 300_000;
const LOST: StreamError = {
  code: "stream_lost",
  message: "The worker's connection for streams dropped while it wrote",
};

type Stream = {
  jobId: string;
  lease: number;
  whenGone: WhenGone;
  /** Waits for the line, writes on it, or has lost it. */
  state: "waiting" | "begun" | "lost";
  waiting: string[];
  waitingBytes: number;
  /** Characters, and those of them that its readers have taken. */
  saidChars: number;
  takenChars: number;
  patienceMs: number;
  ending: { error: StreamError | null } | null;
  /** The writer that replaces this one. */
  writer: StreamWriter | null;
};

export class DataLine implements Streams {
  readonly #settings: SessionSettings;
  readonly #openFallback: () => Streams;
  readonly #streams = new Map<string, Stream>();
  readonly #gatherer: FrameGatherer;
  #socket: WebSocket | null = null;
  #isOpen = false;
  #wasOpen = false;
  #isClosed = false;
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;
  #awaySinceMs = performance.now();
  readonly #idleMs: number;
  #idle: NodeJS.Timeout | undefined;
  /** The permanent replacement. */
  #fallback: Streams | null = null;

  /** `openFallback` opens the replacement for when there is no WebSocket. */
  constructor(settings: SessionSettings, openFallback: () => Streams, idleMs = IDLE_MS) {
    this.#settings = settings;
    this.#idleMs = idleMs;
    this.#openFallback = openFallback;
    this.#gatherer = new FrameGatherer({ send: (frame) => this.#isOpen && this.#socket?.send(frame) });
  }

  prepare(): void {
    const isUnderWay = this.#socket !== null || this.#retry !== undefined || this.#fallback !== null;
    if (!isUnderWay && !this.#isClosed) this.#connect();
  }

  open(jobId: string, lease: number, whenGone: WhenGone, patienceMs = PATIENCE_MS): StreamWriter {
    if (this.#fallback !== null) return this.#fallback.open(jobId, lease, whenGone);
    this.prepare();
    if (this.#isOpen) this.#closeWhenIdle();
    const state = this.#isOpen ? "begun" : "waiting";
    const empty = { waiting: [], waitingBytes: 0, saidChars: 0, takenChars: 0, ending: null, writer: null };
    const stream: Stream = { jobId, lease, whenGone, patienceMs, state, ...empty };
    this.#streams.set(streamKey(jobId, lease), stream);
    return { write: (events) => this.#write(stream, events) };
  }

  end(jobId: string, lease: number, error: StreamError | null): Promise<unknown> | undefined {
    const stream = this.#streams.get(streamKey(jobId, lease));
    if (stream === undefined) return this.#fallback?.end(jobId, lease, error);
    stream.ending = { error };
    if (stream.state === "begun") this.#deliver(stream);
    return undefined;
  }

  drop(jobId: string, lease: number): void {
    this.#fallback?.drop(jobId, lease);
    this.#streams.delete(streamKey(jobId, lease));
    this.#gatherer.drop(jobId, lease);
  }

  /** The worker itself is connected over HTTP now; a line that has once been open is tried again. */
  goOverHttp(): void {
    if (!this.#wasOpen && this.#fallback === null && !this.#isClosed) this.#fallBack();
  }

  close(): void {
    this.#isClosed = true;
    this.#fallback?.close();
    clearTimeout(this.#retry);
    this.#gatherer.flush();
    this.#closeSocket();
  }

  #closeSocket(): void {
    const socket = this.#socket;
    socket?.close(1000);
    setTimeout(() => socket?.terminate(), CLOSE_TIMEOUT_MS).unref();
  }

  /** Counts from now on. */
  #closeWhenIdle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      if (this.#streams.size > 0) return this.#closeWhenIdle();
      this.#gatherer.flush();
      // A stream that opens now waits for the next line.
      this.#isOpen = false;
      this.#closeSocket();
    }, this.#idleMs);
    this.#idle.unref();
  }

  #write(stream: Stream, events: readonly string[]): Promise<void> | undefined {
    if (stream.writer !== null) return stream.writer.write(events);
    const isDropped = this.#streams.get(streamKey(stream.jobId, stream.lease)) !== stream;
    if (isDropped || stream.state === "lost") return undefined;
    const chars = events.reduce((sum, { length }) => sum + length, 0);
    stream.saidChars += chars;
    if (stream.state === "begun") this.#gatherer.write(stream.jobId, stream.lease, events);
    else {
      stream.waiting.push(...events);
      stream.waitingBytes += chars;
    }
    return this.#isFull(stream) ? this.#hasRoom(stream) : undefined;
  }

  #isFull(stream: Stream): boolean {
    if (stream.state === "lost") return false;
    if (stream.state === "waiting") return stream.waitingBytes > FULL_WAITING_BYTES;
    const inLine = this.#gatherer.waitingBytes + (this.#socket?.bufferedAmount ?? 0);
    return inLine > FULL_BYTES || stream.saidChars - stream.takenChars > AHEAD_CHARS;
  }

  /** Also resolves when the reader stops waiting; output after that is not kept. */
  async #hasRoom(stream: Stream): Promise<void> {
    const { takenChars, patienceMs } = stream;
    const untilMs = performance.now() + patienceMs;
    while (this.#isFull(stream) && this.#streams.has(streamKey(stream.jobId, stream.lease))) {
      await delay(LOOK_EVERY_MS);
      if (!this.#isOpen && performance.now() - this.#awaySinceMs > AWAY_MS) this.#lose(stream);
      if (stream.takenChars === takenChars && performance.now() > untilMs) stream.takenChars = Number.POSITIVE_INFINITY;
    }
  }

  /** Sends everything that a stream has so far. */
  #deliver(stream: Stream): void {
    const { jobId, lease, waiting, ending } = stream;
    const isLost = stream.state === "lost";
    stream.state = "begun";
    stream.waiting = [];
    if (isLost) this.#gatherer.end(jobId, lease, LOST);
    else if (waiting.length > 0) this.#gatherer.write(jobId, lease, waiting);
    if (!isLost && ending !== null) this.#gatherer.end(jobId, lease, ending.error);
    if (isLost || ending !== null) this.#streams.delete(streamKey(jobId, lease));
  }

  #connect(): void {
    const socket = coordinatorSocket(this.#settings, "stream", MAX_RECEIVED_BYTES);
    this.#socket = socket;
    let isRefused = false;
    socket.on("open", () => this.#opened(socket));
    socket.on("message", (data, isBinary) => !isBinary && this.#heard(String(data)));
    socket.on("unexpected-response", (_request, response) => {
      socket.terminate();
      isRefused = ![429, 503].includes(response.statusCode ?? 0);
    });
    socket.on("error", () => {});
    socket.on("close", () => this.#gone(isRefused));
  }

  #opened(socket: WebSocket): void {
    this.#isOpen = true;
    this.#wasOpen = true;
    this.#failures = 0;
    keepAlive(socket);
    this.#closeWhenIdle();
    for (const stream of [...this.#streams.values()]) this.#deliver(stream);
  }

  /** @param isRefused there was an answer, but no WebSocket. */
  #gone(isRefused: boolean): void {
    this.#socket = null;
    if (this.#isOpen) {
      this.#awaySinceMs = performance.now();
      for (const stream of this.#streams.values()) this.#lose(stream);
      this.#gatherer.clear();
    }
    this.#isOpen = false;
    clearTimeout(this.#idle);
    if (this.#isClosed) return;
    if (isRefused && !this.#wasOpen) this.#fallBack();
    else if (this.#streams.size > 0 && this.#fallback === null) this.#connectLater();
  }

  #connectLater(): void {
    const again = () => {
      this.#retry = undefined;
      this.#connect();
    };
    this.#retry = setTimeout(again, backoffMs(this.#failures, Math.random()));
    this.#retry.unref();
    this.#failures += 1;
  }

  #lose(stream: Stream): void {
    stream.state = "lost";
    stream.waiting = [];
  }

  /** What was written so far moves to the replacement. */
  #fallBack(): void {
    const fallback = this.#openFallback();
    this.#fallback = fallback;
    clearTimeout(this.#retry);
    this.#socket?.terminate();
    for (const [key, stream] of this.#streams) {
      const { jobId, lease, waiting, ending, whenGone } = stream;
      stream.writer = fallback.open(jobId, lease, whenGone);
      void stream.writer.write(waiting);
      if (ending !== null) void fallback.end(jobId, lease, ending.error);
      this.#streams.delete(key);
    }
  }

  #took({ job_id, lease, chars }: ReaderTook): void {
    const stream = this.#streams.get(streamKey(job_id, lease));
    if (stream !== undefined) stream.takenChars = Math.max(stream.takenChars, chars);
  }

  #heard(text: string): void {
    const message = parseJson(text);
    for (const one of Array.isArray(message) ? message : [message]) {
      const took = readerTook.safeParse(one);
      if (took.success) this.#took(took.data);
      const parsed = readerGone.safeParse(one);
      if (!parsed.success) continue;
      const { job_id, lease } = parsed.data;
      const stream = this.#streams.get(streamKey(job_id, lease));
      this.drop(job_id, lease);
      stream?.whenGone();
    }
  }
}
