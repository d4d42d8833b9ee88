// Connects a worker's streams with their readers: one object per worker (`<tenant>/<instance>`), in memory only. The
// tenant decides who runs what; no output passes through it. A worker writes only into its own relay, and a reader
// looks there because the tenant assigned that job under that lease to that worker, so frames need no check. The same
// class stores bodies that are too large for the tenant (`<tenant>/body/<slot>`).

import { DurableObject } from "cloudflare:workers";
import { MAX_DATA_FRAME_BYTES, MAX_PART_BYTES, PART_SEPARATOR, readParts } from "../contract/data-line.ts";
import { CONFLICT, FAILED_DEPENDENCY, GONE, NO_CONTENT, SWITCHING_PROTOCOLS } from "../contract/http-status.ts";
import { closeCodes } from "../contract/values.ts";
import { HOUR_MS } from "../domain/duration.ts";
import { HeldBodies } from "./held-bodies.ts";
import { answerClose, close, send } from "./hibernating-sockets.ts";
import { callMethod, LINE_URL, openLine } from "./object-line.ts";
import { type Jurisdiction, objectNamed } from "./object-name.ts";
import type { AttemptEnd } from "./operations/abandon.ts";
import { heldJobOf, type ReadRequest, readRequestOf } from "./relay-request.ts";
import { END_GRACE_MS, type EndError, RelayedStream, streamLost, wholeEventsOf } from "./relayed-stream.ts";
import { Reader } from "./stream-reader.ts";
import { PING, PONG } from "./tenant-socket.ts";

interface RelayEnv {
  readonly TENANT: DurableObjectNamespace<DurableObject & StreamOwner>;
}

/** A stream that the tenant cuts. */
export interface Cut {
  readonly jobId: string;
  readonly lease: number;
  /** null: the job continues with another attempt. */
  readonly error: EndError | null;
}

/** What a relay tells its tenant, and asks it. */
export interface StreamOwner {
  /** A reader has left, or reads too slowly. */
  readerGone(jobId: string, lease: number, isSlow: boolean): Promise<void>;
  /** Over HTTP a worker's first event is its only report of first output. */
  firstWord(jobId: string, lease: number): Promise<void>;
  /** A client has received part of an attempt that has ended: no other worker continues its job. */
  endHeard(jobId: string): Promise<void>;
  /** How attempts ended, or that they are running. */
  endsOf(leases: readonly { jobId: string; lease: number }[]): Promise<AttemptEnd[]>;
}

interface Line {
  readonly keyId: string;
  readonly openedWith: string;
}

const TICK_MS = 100;
const MAX_STREAMS = 4_096;
const HELD_BODY_MS = 24 * HOUR_MS;
const MOVED_ON: EndError = { code: "worker_lost", message: "the worker was lost while it was answering" };

export class Relay extends DurableObject<RelayEnv> {
  readonly #streams = new Map<string, RelayedStream>();
  #jurisdiction: Jurisdiction | null = null;
  #lineLostAt: number | null = null;
  #ticking: ReturnType<typeof setInterval> | null = null;

  constructor(state: DurableObjectState, env: RelayEnv) {
    super(state, env);
    state.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
  }

  override async fetch(request: Request): Promise<Response> {
    if (request.url === LINE_URL) return openLine(() => ({ answer: (method, args) => callMethod(this, method, args) }));
    const heldFor = heldJobOf(request.url);
    if (heldFor !== null) return this.#holdBody(heldFor, await request.text());
    if (request.headers.get("upgrade") === "websocket") return this.#openLine(request);
    const asked = readRequestOf(request);
    this.#jurisdiction = asked.jurisdiction;
    return request.method === "POST" ? this.#write(asked, request) : this.#read(asked, request.signal);
  }

  #openLine(request: Request): Response {
    const { keyId = "", openedWith = "" } = JSON.parse(
      request.headers.get("x-signalbox-line") ?? "{}",
    ) as Partial<Line>;
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    const older = this.ctx.getWebSockets();
    this.ctx.acceptWebSocket(server);
    server.serializeAttachment({ keyId, openedWith } satisfies Line);
    this.#lineLostAt = null;
    for (const one of older) close(one, closeCodes.replaced, "another data line of this instance took over");
    return new Response(null, { status: SWITCHING_PROTOCOLS, webSocket: client });
  }

  override async webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): Promise<void> {
    const isTooLarge = (text: string): boolean => text.length > MAX_PART_BYTES;
    if (typeof frame !== "string" || frame.length > MAX_DATA_FRAME_BYTES)
      return close(socket, closeCodes.badFrame, `a frame is text of at most ${MAX_DATA_FRAME_BYTES} bytes`);
    if (frame.split(PART_SEPARATOR).some(isTooLarge))
      return close(socket, closeCodes.badFrame, `a part of a frame has at most ${MAX_PART_BYTES} bytes`);
    const nowAt = Date.now();
    for (const part of readParts(frame)) {
      const stream = this.#stream(part.jobId, part.lease, nowAt);
      if (part.kind === "events") this.#publish(stream, part.events, nowAt);
      else stream.finish(part.error, nowAt);
    }
  }

  #publish(stream: RelayedStream, events: string, nowAt: number): void {
    stream.publish(events, nowAt);
    for (const reader of stream.readers) if (reader.isSlow(nowAt)) this.#cutSlow(stream, reader);
  }

  /** The client is not told, because it would not read it. */
  #cutSlow(stream: RelayedStream, reader: Reader): void {
    stream.readers.delete(reader);
    reader.cut();
    if (!reader.wishes.isNumbered) this.#readerGone(stream, true);
  }

  /** The answer begins with the first event; if there is none, it says so. */
  async #read(asked: ReadRequest, signal: AbortSignal): Promise<Response> {
    const stream = this.#stream(asked.jobId, asked.lease, Date.now());
    if (!stream.has(asked.wishes.after)) return new Response(null, { status: GONE });
    if (!asked.wishes.isNumbered) {
      stream.awaitedBy += 1;
      await stream.begun;
      stream.awaitedBy -= 1;
      if (!stream.hasEvents) return new Response(null, { status: FAILED_DEPENDENCY });
    }
    const nowAt = Date.now();
    const leave = (): void => {
      if (stream.readers.delete(reader) && !asked.wishes.isNumbered) this.#readerGone(stream, false);
    };
    const reader = new Reader(asked.wishes, nowAt, leave);
    signal.addEventListener("abort", leave);
    stream.join(reader, nowAt);
    return new Response(reader.body, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
  }

  /** Over HTTP: a body of events, for networks without WebSockets. */
  async #write({ jobId, lease }: ReadRequest, request: Request): Promise<Response> {
    const stream = this.#stream(jobId, lease, Date.now());
    stream.noteWriter();
    // A body that breaks off is treated like one that ends: its worker's report has the outcome.
    const isRefused = await this.#take(stream, request).catch(() => false);
    if (isRefused || stream.isReaderGone) return refused(stream);
    stream.noteLeft(Date.now());
    return new Response(null, { status: NO_CONTENT });
  }

  /** The first event also counts as the worker's `job.streaming`. Returns whether the stream has no reader any more. */
  async #take(stream: RelayedStream, request: Request): Promise<boolean> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const bytes of (request.body ?? []) as AsyncIterable<Uint8Array>) {
      if (stream.isOver || stream.isReaderGone) return true;
      rest += decoder.decode(bytes, { stream: true });
      const whole = wholeEventsOf(rest);
      rest = rest.slice(whole.length);
      if (rest.length > MAX_PART_BYTES) throw new Error("an event is too long");
      if (whole === "") continue;
      if (!stream.hasEvents) this.#tell((tenant) => tenant.firstWord(stream.jobId, stream.lease));
      this.#publish(stream, whole, Date.now());
    }
    return false;
  }

  /** Streams that the tenant took from this worker end at once, whatever the worker does. */
  async cut(cuts: readonly Cut[]): Promise<void> {
    const nowAt = Date.now();
    for (const { jobId, lease, error } of cuts) {
      const stream = this.#stream(jobId, lease, nowAt);
      const told = stream.hasEvents ? (error ?? MOVED_ON) : error;
      stream.finish(told ?? streamLost, nowAt);
      if (error === null && stream.isHeard) this.#tell((tenant) => tenant.endHeard(jobId));
    }
  }

  /** `liveHashes`: of the secrets that are still valid. */
  async endKey(keyId: string, liveHashes: readonly string[]): Promise<void> {
    for (const socket of this.ctx.getWebSockets()) {
      const line = socket.deserializeAttachment() as Line | null;
      if (line?.keyId === keyId && !liveHashes.includes(line.openedWith))
        close(socket, closeCodes.keyEnded, "the key has ended");
    }
  }

  /** The tenant was deleted. */
  async end(): Promise<void> {
    const nowAt = Date.now();
    for (const stream of this.#streams.values()) stream.finish(streamLost, nowAt);
    for (const socket of this.ctx.getWebSockets()) close(socket, closeCodes.keyEnded, "the tenant was deleted");
  }

  async #holdBody(jobId: string, text: string): Promise<Response> {
    this.#bodies().put(jobId, text, Date.now());
    await this.#wakeForBodies();
    return new Response(null, { status: NO_CONTENT });
  }

  async readBody(jobId: string): Promise<string | null> {
    return this.#bodies().read(jobId);
  }

  async dropBody(jobId: string): Promise<void> {
    this.#bodies().drop(jobId);
    await this.#wakeForBodies();
  }

  /** Bodies whose jobs never ended here: their request was lost, or their tenant. */
  override async alarm(): Promise<void> {
    this.#bodies().dropHeldUntil(Date.now() - HELD_BODY_MS);
    await this.#wakeForBodies();
  }

  #bodies(): HeldBodies {
    return new HeldBodies(this.ctx.storage.sql);
  }

  /** Without bodies the object has no storage. */
  async #wakeForBodies(): Promise<void> {
    const oldestAt = this.#bodies().oldestAt();
    if (oldestAt === null) await this.ctx.storage.deleteAll();
    else await this.ctx.storage.setAlarm(oldestAt + HELD_BODY_MS);
  }

  override async webSocketClose(socket: WebSocket): Promise<void> {
    answerClose(socket);
    const isReplaced = this.ctx.getWebSockets().some((one) => one !== socket && one.readyState === WebSocket.OPEN);
    if (!isReplaced) this.#lineLostAt = Date.now();
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    await this.webSocketClose(socket);
  }

  #stream(jobId: string, lease: number, nowAt: number): RelayedStream {
    const key = `${jobId} ${lease}`;
    const known = this.#streams.get(key);
    if (known !== undefined) return known;
    const made = new RelayedStream(jobId, lease, nowAt);
    this.#streams.set(key, made);
    if (this.#streams.size > MAX_STREAMS) this.#dropOldest();
    this.#ticking ??= setInterval(() => this.#tick(), TICK_MS);
    return made;
  }

  /** Bounds the memory for a worker that sends streams of jobs it does not have. */
  #dropOldest(): void {
    for (const [key, stream] of this.#streams) {
      if (stream.readers.size + stream.awaitedBy > 0) continue;
      this.#streams.delete(key);
      return;
    }
  }

  /** The stream has no reader any more: its worker stops, and the tenant ends the job. */
  #readerGone(stream: RelayedStream, isSlow: boolean): void {
    stream.isReaderGone = true;
    const message = JSON.stringify({ type: "reader.gone", job_id: stream.jobId, lease: stream.lease });
    for (const line of this.ctx.getWebSockets()) send(line, message);
    this.#tell((tenant) => tenant.readerGone(stream.jobId, stream.lease, isSlow));
  }

  #tell(say: (tenant: StreamOwner) => Promise<unknown>): void {
    this.ctx.waitUntil(say(this.#tenant()).catch(() => undefined));
  }

  /** The class's own types; the stub's types wrap the answers a second time. */
  #tenant(): StreamOwner {
    const [tenant = ""] = (this.ctx.id.name ?? "").split("/");
    return objectNamed(this.env.TENANT, tenant, this.#jurisdiction) as unknown as StreamOwner;
  }

  /** What only time decides. */
  #tick(): void {
    const nowAt = Date.now();
    this.#endLost(nowAt);
    this.#forgetUnwanted(nowAt);
    this.#serveReaders(nowAt);
    const silent = [...this.#streams.values()].filter((stream) => stream.shouldAsk(nowAt));
    if (silent.length > 0) this.ctx.waitUntil(this.#askAbout(silent).catch(() => undefined));
    if (this.#streams.size > 0 || this.#ticking === null) return;
    clearInterval(this.#ticking);
    this.#ticking = null;
  }

  /** Streams whose worker, or whose line, has been gone for too long. One without events may begin elsewhere. */
  #endLost(nowAt: number): void {
    const isLineLost = this.#lineLostAt !== null && nowAt - this.#lineLostAt >= END_GRACE_MS;
    if (isLineLost) this.#lineLostAt = null;
    for (const stream of this.#streams.values())
      if ((isLineLost || stream.isLost(nowAt)) && stream.hasEvents) stream.finish(streamLost, nowAt);
  }

  #forgetUnwanted(nowAt: number): void {
    for (const [key, stream] of this.#streams) if (stream.isForgettable(nowAt)) this.#streams.delete(key);
  }

  #serveReaders(nowAt: number): void {
    for (const stream of this.#streams.values()) {
      for (const reader of stream.readers) {
        reader.keepAlive(nowAt);
        if (reader.isSlow(nowAt)) this.#cutSlow(stream, reader);
      }
    }
  }

  /** A silent stream may belong to a job that has ended, if that message was lost. */
  async #askAbout(streams: readonly RelayedStream[]): Promise<void> {
    const ends = await this.#tenant().endsOf(streams.map(({ jobId, lease }) => ({ jobId, lease })));
    const nowAt = Date.now();
    for (const [index, end] of ends.entries()) {
      const stream = streams[index];
      if (stream === undefined || end === "open") continue;
      if (end === "whole") stream.finish(null, nowAt);
      else stream.finish(end, nowAt);
    }
  }
}

const refused = (stream: RelayedStream): Response =>
  new Response(stream.isReaderGone ? "reader_gone" : "lease_lost", { status: CONFLICT });
