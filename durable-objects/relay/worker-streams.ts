// The streams of one worker: output is kept only for jobs and leases that the tenant gave to this worker. A reader proves
// it, else the tenant is asked, once a stream. What only time decides is looked at in ticks, as long as there are streams.
// All bounds: `growth.ts`.

import { contentCharsIn } from "../../contract/text/said-text.ts";
import { FAILED_DEPENDENCY, GONE, OK, TOO_MANY_REQUESTS } from "../../contract/words/http-status.ts";
import { clientClosed, streamLost } from "../../domain/job/job-error.ts";
import { MIB } from "../../domain/words/size.ts";
import { takeEvents } from "./events-body.ts";
import { boundFor, forgetHolder, makeRoom, noteHolder } from "./held-output.ts";
import { endInvalid, HOLDERS_EVERY_MS } from "./holder-check.ts";
import { MAX_STREAMS } from "./relay-bounds.ts";
import type { ReadRequest } from "./relay-request.ts";
import { RelayedStream } from "./relayed-stream.ts";
import type { EndError } from "./said-events.ts";
import { type Cut, keyOf, leaseOf, type StreamLease, type StreamOwner } from "./stream-owner.ts";
import { type OpenOutlet, Reader, type WhyGone } from "./stream-reader.ts";
import { END_GRACE_MS } from "./stream-writer.ts";
import { UnconfirmedStreams } from "./unconfirmed-streams.ts";

interface StreamsTools {
  /** Under which its memory is counted. */
  readonly holder: string;
  readonly instance: string;
  readonly tenant: () => StreamOwner;
  /** The worker need not go on. */
  readonly stopWriter: (lease: StreamLease) => void;
  /** The worker may say more. */
  readonly tellTaken: (lease: StreamLease, chars: number) => void;
  readonly waitUntil: (work: Promise<unknown>) => void;
  /** It has no streams any more. */
  readonly onEmpty: () => void;
}

const TICK_MS = 100;
/** The memory is looked at with each tick, and after so much output. */
const WEIGH_EVERY_CHARS = MIB;
const MOVED_ON: EndError = { code: "worker_lost", message: "the worker was lost while it was answering" };

export class WorkerStreams {
  readonly #tools: StreamsTools;
  readonly #streams = new Map<string, RelayedStream>();
  readonly #unconfirmed = new UnconfirmedStreams({
    ask: (streams) => this.#tools.tenant().givenTo(this.#tools.instance, streams.map(leaseOf)),
    refuse: (stream) => this.#forget(stream),
  });

  #lineLostAt: number | null = null;
  /** Characters since the memory was last looked at. */
  #unweighedChars = 0;
  #ticking: ReturnType<typeof setInterval> | null = null;
  #holdersAt = 0;

  constructor(tools: StreamsTools) {
    this.#tools = tools;
  }

  /** Characters of output that the tenant has not confirmed as this worker's. */
  get unconfirmedChars(): number {
    return this.#unconfirmed.saidChars;
  }

  refuseUnconfirmed(): void {
    this.#unconfirmed.refuseAll();
  }

  /** When the worker's line was lost; null: it has one. */
  noteLine(lostAt: number | null): void {
    this.#lineLostAt = lostAt;
  }

  /** Output that came on the worker's line: `confirm` follows. */
  publish(lease: StreamLease, events: string, nowAt: number): void {
    this.#publish(this.#stream(lease, nowAt), events, nowAt);
  }

  finish(lease: StreamLease, error: EndError | null, nowAt: number): void {
    this.#finish(this.#stream(lease, nowAt), error, nowAt);
  }

  confirm(): void {
    const asking = this.#unconfirmed.ask();
    if (asking !== null) this.#tools.waitUntil(asking);
  }

  /** A stream that needs no proof that it is this worker's. */
  #proven(lease: StreamLease, nowAt: number): RelayedStream {
    const stream = this.#stream(lease, nowAt);
    this.#unconfirmed.remove(stream, true);
    return stream;
  }

  /** Output of a job that the tenant gave to this object itself. Resolves when its readers may be sent more. */
  say(lease: StreamLease, events: string): Promise<void> {
    const nowAt = Date.now();
    const stream = this.#proven(lease, nowAt);
    this.#publish(stream, events, nowAt);
    return stream.caughtUp();
  }

  /** The end of such output. */
  end(lease: StreamLease, error: EndError | null): void {
    const nowAt = Date.now();
    this.#finish(this.#proven(lease, nowAt), error, nowAt);
  }

  /** With the first event, if the reader is the client that asked; resolves to the status of its answer. */
  async join(asked: ReadRequest, open: OpenOutlet): Promise<number> {
    const stream = this.#proven(asked, Date.now());
    if (asked.wishes.isNumbered && stream.isFull) return TOO_MANY_REQUESTS;
    if (!stream.window.has(asked.wishes.after)) return GONE;
    if (!asked.wishes.isNumbered) {
      stream.awaitedBy += 1;
      await stream.begun;
      stream.awaitedBy -= 1;
      if (!stream.window.hasEvents) return FAILED_DEPENDENCY;
      // An answer without its beginning would look whole.
      if (!stream.window.has(asked.wishes.after)) return GONE;
    }
    const nowAt = Date.now();
    const leave = (why: WhyGone): void => {
      if (!stream.readers.delete(reader) || asked.wishes.isNumbered) return;
      if (why === "lost") this.#tellLost(stream);
      // Clients leave with the last event, which may come before its worker's report.
      else if (!stream.hasSaidEndTo(reader)) this.#readerGone(stream, false);
    };
    const reader = new Reader(asked, nowAt, open(leave));
    stream.join(reader, nowAt);
    if (stream.isToldLost) this.#tellLost(stream);
    return OK;
  }

  /** A body of events, whose first also counts as `job.streaming`. Null if it is taken whole, else why its rest is not. */
  async take(
    asked: ReadRequest,
    body: ReadableStream<Uint8Array> | null,
  ): Promise<"reader_gone" | "lease_lost" | null> {
    const stream = this.#proven(asked, Date.now());
    const isWhole = await takeEvents(stream, asked.holder, body, (events) => {
      if (!stream.window.hasEvents) this.#tell((tenant) => tenant.firstToken(asked.jobId, asked.lease));
      this.#publish(stream, events, Date.now());
    });
    if (isWhole) return null;
    return stream.isReaderGone ? "reader_gone" : "lease_lost";
  }

  /** Streams that the tenant took from this worker end at once, whatever the worker does. */
  cut(cuts: readonly Cut[]): void {
    const nowAt = Date.now();
    for (const { jobId, lease, error } of cuts) {
      const stream = this.#proven({ jobId, lease }, nowAt);
      if (error?.code === clientClosed.code) this.#stopUnread(stream);
      const told = stream.window.hasEvents ? (error ?? MOVED_ON) : error;
      stream.finish(told ?? streamLost, nowAt);
      if (error === null && stream.hasBegunAnswer) this.#tell((tenant) => tenant.endBegunAnswer(jobId));
    }
  }

  /** How many characters of content an attempt has said, as far as is known here; null: nothing of it. */
  said(lease: StreamLease): number | null {
    const stream = this.#streams.get(keyOf(lease));
    if (stream === undefined || !stream.window.hasEvents) return null;
    const { chars } = stream.said;
    const { text } = stream.window;
    return text === "" ? chars : Math.ceil((contentCharsIn(text) * chars) / text.length);
  }

  endAll(): void {
    const nowAt = Date.now();
    for (const stream of this.#streams.values()) stream.finish(streamLost, nowAt);
  }

  #publish(stream: RelayedStream, events: string, nowAt: number): void {
    stream.publish(events, nowAt);
    this.#unconfirmed.note(stream, events.length);
    for (const reader of stream.readers)
      if (reader.isSlow(nowAt, stream.said.longEventBytes)) this.#cutSlow(stream, reader);
    this.#tellTaken(stream);
    this.#unweighedChars += events.length;
    if (this.#unweighedChars > WEIGH_EVERY_CHARS) this.#makeRoom();
  }

  #tellTaken(stream: RelayedStream): void {
    const chars = stream.takeTold();
    if (chars !== null) this.#tools.tellTaken(stream, chars);
  }

  /** When a client gets the error of a lost stream, its job ends, too. */
  #finish(stream: RelayedStream, error: EndError | null, nowAt: number): void {
    const wasTold = stream.isToldLost;
    stream.finish(error, nowAt);
    if (stream.isToldLost && !wasTold) this.#tellLost(stream);
  }

  #tellLost({ jobId, lease }: RelayedStream): void {
    this.#tell((tenant) => tenant.streamLost(jobId, lease));
  }

  #makeRoom(): void {
    this.#unweighedChars = 0;
    const { holder } = this.#tools;
    const held = makeRoom(this.#streams, (stream, reader) => this.#cutSlow(stream, reader), boundFor(holder));
    noteHolder(holder, held);
  }

  /** No worker has it: a reader that waits for it learns that it has no events. */
  #forget(stream: RelayedStream): void {
    stream.finish(streamLost, Date.now());
    this.#remove(stream);
  }

  #remove(stream: RelayedStream): void {
    const key = keyOf(stream);
    if (this.#streams.get(key) === stream) this.#streams.delete(key);
    this.#unconfirmed.remove(stream);
  }

  /** The client gets no error, because it would not read it. */
  #cutSlow(stream: RelayedStream, reader: Reader): void {
    stream.readers.delete(reader);
    reader.cut();
    if (!reader.wishes.isNumbered) this.#readerGone(stream, true);
  }

  /** The stream has no reader any more: its worker stops, and the tenant ends the job. */
  #readerGone(stream: RelayedStream, isSlow: boolean): void {
    this.#stopUnread(stream);
    this.#tell((tenant) => tenant.readerGone(stream.jobId, stream.lease, isSlow));
  }

  /** Its worker is told once, whether the relay or the tenant hears first that the client has left. */
  #stopUnread(stream: RelayedStream): void {
    if (!stream.isReaderGone) this.#tools.stopWriter(stream);
    stream.isReaderGone = true;
  }

  #tell(say: (tenant: StreamOwner) => Promise<unknown>): void {
    this.#tools.waitUntil(say(this.#tools.tenant()).catch(() => undefined));
  }

  #stream(lease: StreamLease, nowAt: number): RelayedStream {
    const key = keyOf(lease);
    const known = this.#streams.get(key);
    if (known !== undefined) return known;
    const made = new RelayedStream(lease.jobId, lease.lease, nowAt);
    this.#streams.set(key, made);
    this.#unconfirmed.add(made);
    if (this.#streams.size > MAX_STREAMS) this.#dropOldest();
    noteHolder(this.#tools.holder);
    this.#ticking ??= setInterval(() => this.#tick(), TICK_MS);
    return made;
  }

  /** Bounds the memory for a worker that sends streams of jobs it does not have. */
  #dropOldest(): void {
    for (const stream of this.#streams.values()) {
      if (stream.readers.size + stream.awaitedBy > 0) continue;
      this.#remove(stream);
      return;
    }
  }

  /** What only time decides. */
  #tick(): void {
    const nowAt = Date.now();
    this.#endLost(nowAt);
    for (const stream of this.#streams.values()) if (stream.isForgettable(nowAt)) this.#remove(stream);
    this.#serveReaders(nowAt);
    this.confirm();
    this.#checkHolders(nowAt);
    this.#makeRoom();
    const silent = [...this.#streams.values()].filter(({ isOver, writer }) => !isOver && writer.shouldAsk(nowAt));
    if (silent.length > 0) this.#tools.waitUntil(this.#askAbout(silent).catch(() => undefined));
    if (this.#streams.size > 0 || this.#ticking === null) return;
    clearInterval(this.#ticking);
    this.#ticking = null;
    forgetHolder(this.#tools.holder);
    this.#tools.onEmpty();
  }

  /** Streams whose worker, or whose line, has been gone for too long. One without events may begin elsewhere. */
  #endLost(nowAt: number): void {
    const isLineLost = this.#lineLostAt !== null && nowAt - this.#lineLostAt >= END_GRACE_MS;
    if (isLineLost) this.#lineLostAt = null;
    for (const stream of this.#streams.values())
      if ((isLineLost || stream.writer.isLost(nowAt)) && stream.window.hasEvents)
        this.#finish(stream, streamLost, nowAt);
  }

  #serveReaders(nowAt: number): void {
    for (const stream of this.#streams.values()) {
      for (const reader of stream.readers) {
        if (!stream.said.isWithinEvent) reader.keepAlive(nowAt);
        if (reader.isSlow(nowAt, stream.said.longEventBytes)) this.#cutSlow(stream, reader);
      }
      this.#tellTaken(stream);
    }
  }

  #checkHolders(nowAt: number): void {
    if (nowAt - this.#holdersAt < HOLDERS_EVERY_MS) return;
    this.#holdersAt = nowAt;
    this.#unconfirmed.forgetLost();
    const open = [...this.#streams.values()].flatMap((stream) => stream.heldOpen());
    this.#tell((tenant) => endInvalid(open, (holders) => tenant.areValid(holders)));
  }

  /** A silent stream may belong to a job that has ended, if that message was lost. */
  async #askAbout(streams: readonly RelayedStream[]): Promise<void> {
    const ends = await this.#tools.tenant().endsOf(streams.map(leaseOf));
    const nowAt = Date.now();
    for (const [index, end] of ends.entries()) {
      const stream = streams[index];
      if (stream === undefined || end === "open") continue;
      this.#finish(stream, end === "whole" ? null : end, nowAt);
    }
  }
}
