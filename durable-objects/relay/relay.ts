// Connects a worker's streams with their readers: one object per worker (`<tenant>/<instance>`), in memory only. The
// tenant decides who runs what; no output passes through it. Output is kept only for jobs and leases that the tenant
// gave to this worker: a reader proves it, else the tenant is asked, once a stream. All bounds: `growth.ts`. The
// same class stores bodies that are too large for the tenant (`<tenant>/body/<slot>`).

import { DurableObject } from "cloudflare:workers";
import { MAX_DATA_FRAME_BYTES, MAX_PART_BYTES, PART_SEPARATOR, readParts } from "../../contract/data-line.ts";
import { contentCharsIn } from "../../contract/text/said-text.ts";
import {
  CONFLICT,
  FAILED_DEPENDENCY,
  GONE,
  NO_CONTENT,
  OK,
  SWITCHING_PROTOCOLS,
  TOO_MANY_REQUESTS,
} from "../../contract/words/http-status.ts";
import { closeCodes } from "../../contract/words/values.ts";
import { clientClosed, streamLost } from "../../domain/job/job-error.ts";
import { type Jurisdiction, objectNamed } from "../object-name.ts";
import { answerClose, close, send } from "../sockets/hibernating-sockets.ts";
import { LINE_URL, openLine } from "../sockets/object-line.ts";
import { PING, PONG } from "../sockets/tenant-socket.ts";
import { takeEvents } from "./events-body.ts";
import { HeldBodies } from "./held-bodies.ts";
import { boundFor, forgetHolder, makeRoom, noteHolder } from "./held-output.ts";
import { endInvalid, HOLDERS_EVERY_MS } from "./holder-check.ts";
import { ReadingLine } from "./reading-line.ts";
import { MAX_STREAMS, UNCONFIRMED_BYTES } from "./relay-bounds.ts";
import { heldJobOf, type ReadRequest, readRequestOf } from "./relay-request.ts";
import { END_GRACE_MS, type EndError, RelayedStream } from "./relayed-stream.ts";
import type { RunnerOwner } from "./runner-owner.ts";
import { type Cut, keyOf, leaseOf, type StreamLease, type StreamOwner } from "./stream-owner.ts";
import { answerRead, type OpenOutlet, Reader } from "./stream-reader.ts";
import { UnconfirmedStreams } from "./unconfirmed-streams.ts";

export interface RelayEnv {
  readonly TENANT: DurableObjectNamespace<DurableObject & StreamOwner & RunnerOwner>;
}

interface OpenedLine {
  readonly keyId: string;
  readonly openedWith: string;
  readonly jurisdiction: Jurisdiction | null;
}

const TICK_MS = 100;
/** The memory is looked at with each tick, and after so much output. */
const WEIGH_EVERY_CHARS = 1024 * 1024;
const MOVED_ON: EndError = { code: "worker_lost", message: "the worker was lost while it was answering" };

export class Relay<Env extends RelayEnv = RelayEnv> extends DurableObject<Env> {
  readonly #id: string = this.ctx.id.toString();
  readonly #streams = new Map<string, RelayedStream>();
  protected jurisdiction: Jurisdiction | null = null;
  #lineLostAt: number | null = null;
  readonly #unconfirmed = new UnconfirmedStreams({
    ask: (streams) => this.tenant().givenTo(this.instance, streams.map(leaseOf)),
    refuse: (stream) => this.#forget(stream),
  });

  /** Characters since the memory was last looked at. */
  #unweighedChars = 0;
  #ticking: ReturnType<typeof setInterval> | null = null;
  #holdersAt = 0;

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    state.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
  }

  override async fetch(request: Request): Promise<Response> {
    if (request.url === LINE_URL)
      return openLine((tell) => new ReadingLine(tell, this, (query, open) => this.#join(this.#askedBy(query), open)));
    const heldFor = heldJobOf(request.url);
    if (heldFor !== null) {
      await this.#bodies.hold(heldFor, await request.text(), Date.now());
      return new Response(null, { status: NO_CONTENT });
    }
    if (request.headers.get("upgrade") === "websocket") return this.#openLine(request);
    const asked = this.#askedBy(new URL(request.url).search);
    if (request.method === "POST") return this.#write(asked, request);
    return answerRead((open) => this.#join(asked, open), request.signal);
  }

  #askedBy(query: string): ReadRequest {
    const asked = readRequestOf(query);
    this.jurisdiction = asked.jurisdiction;
    return asked;
  }

  #openLine(request: Request): Response {
    const {
      keyId = "",
      openedWith = "",
      jurisdiction = null,
    } = JSON.parse(request.headers.get("x-signalbox-line") ?? "{}") as Partial<OpenedLine>;
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    const older = this.ctx.getWebSockets();
    this.ctx.acceptWebSocket(server);
    server.serializeAttachment({ keyId, openedWith, jurisdiction } satisfies OpenedLine);
    this.#lineLostAt = null;
    for (const one of older) close(one, closeCodes.replaced, "another data line of this instance took over");
    return new Response(null, { status: SWITCHING_PROTOCOLS, webSocket: client });
  }

  override async webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): Promise<void> {
    if (typeof frame !== "string" || frame.length > MAX_DATA_FRAME_BYTES)
      return close(socket, closeCodes.badFrame, `a frame is text of at most ${MAX_DATA_FRAME_BYTES} bytes`);
    if (frame.split(PART_SEPARATOR).some((part) => part.length > MAX_PART_BYTES))
      return close(socket, closeCodes.badFrame, `a part of a frame has at most ${MAX_PART_BYTES} bytes`);
    const nowAt = Date.now();
    for (const part of readParts(frame)) {
      const stream = this.#stream(part.jobId, part.lease, nowAt);
      if (part.kind === "events") this.#publish(stream, part.events, nowAt);
      else this.#finish(stream, part.error, nowAt);
    }
    if (this.#unconfirmed.saidChars > UNCONFIRMED_BYTES) {
      this.#unconfirmed.refuseAll();
      close(socket, closeCodes.tooManyMessages, `more than ${UNCONFIRMED_BYTES} bytes for jobs that it does not have`);
    }
    this.#confirm();
  }

  #publish(stream: RelayedStream, events: string, nowAt: number): void {
    stream.publish(events, nowAt);
    this.#unconfirmed.note(stream, events.length);
    for (const reader of stream.readers) if (reader.isSlow(nowAt, stream.longEventBytes)) this.#cutSlow(stream, reader);
    this.#unweighedChars += events.length;
    if (this.#unweighedChars > WEIGH_EVERY_CHARS) this.#makeRoom();
  }

  #makeRoom(): void {
    this.#unweighedChars = 0;
    const held = makeRoom(this.#streams, (stream, reader) => this.#cutSlow(stream, reader), boundFor(this.#id));
    noteHolder(this.#id, held);
  }

  #confirm(): void {
    const asking = this.#unconfirmed.ask();
    if (asking !== null) this.ctx.waitUntil(asking);
  }

  /** No worker has it: a reader that waits for it learns that it has no events. */
  #forget(stream: RelayedStream): void {
    stream.finish(streamLost, Date.now());
    const key = keyOf(stream);
    if (this.#streams.get(key) === stream) this.#streams.delete(key);
    this.#unconfirmed.remove(stream);
  }

  /** When a client gets the error of a lost stream, its job ends, too. */
  #finish(stream: RelayedStream, error: EndError | null, nowAt: number): void {
    const wasTold = stream.isToldLost;
    stream.finish(error, nowAt);
    if (stream.isToldLost && !wasTold) this.#tell((tenant) => tenant.streamLost(stream.jobId, stream.lease));
  }

  /** Output of a job that the tenant gave to this object itself: it needs no proof. */
  protected say(lease: StreamLease, events: string): void {
    const nowAt = Date.now();
    const stream = this.#stream(lease.jobId, lease.lease, nowAt);
    this.#unconfirmed.remove(stream);
    this.#publish(stream, events, nowAt);
  }

  protected endStream(lease: StreamLease, error: EndError | null): void {
    const nowAt = Date.now();
    const stream = this.#stream(lease.jobId, lease.lease, nowAt);
    this.#unconfirmed.remove(stream);
    this.#finish(stream, error, nowAt);
  }

  /** The client gets no error, because it would not read it. */
  #cutSlow(stream: RelayedStream, reader: Reader): void {
    stream.readers.delete(reader);
    reader.cut();
    if (!reader.wishes.isNumbered) this.#readerGone(stream, true);
  }

  /** With the first event, if the reader is the client that asked; resolves to the status of its answer. */
  async #join(asked: ReadRequest, open: OpenOutlet): Promise<number> {
    const stream = this.#stream(asked.jobId, asked.lease, Date.now());
    this.#unconfirmed.remove(stream);
    if (asked.wishes.isNumbered && stream.isFull) return TOO_MANY_REQUESTS;
    if (!stream.has(asked.wishes.after)) return GONE;
    if (!asked.wishes.isNumbered) {
      stream.awaitedBy += 1;
      await stream.begun;
      stream.awaitedBy -= 1;
      if (!stream.hasEvents) return FAILED_DEPENDENCY;
      // An answer without its beginning would look whole.
      if (!stream.has(asked.wishes.after)) return GONE;
    }
    const nowAt = Date.now();
    const leave = (): void => {
      if (stream.readers.delete(reader) && !asked.wishes.isNumbered) this.#readerGone(stream, false);
    };
    const reader = new Reader(asked, nowAt, open(leave));
    stream.join(reader, nowAt);
    if (stream.isToldLost) this.#tell((tenant) => tenant.streamLost(stream.jobId, stream.lease));
    return OK;
  }

  /** Over HTTP: a body of events, for networks without WebSockets. The first also counts as `job.streaming`. */
  async #write({ jobId, lease, holder }: ReadRequest, request: Request): Promise<Response> {
    const stream = this.#stream(jobId, lease, Date.now());
    this.#unconfirmed.remove(stream);
    const isWhole = await takeEvents(stream, holder, request.body, (events) => {
      if (!stream.hasEvents) this.#tell((tenant) => tenant.firstToken(jobId, lease));
      this.#publish(stream, events, Date.now());
    });
    return isWhole ? new Response(null, { status: NO_CONTENT }) : refused(stream);
  }

  /** Streams that the tenant took from this worker end at once, whatever the worker does. */
  async cut(cuts: readonly Cut[]): Promise<void> {
    const nowAt = Date.now();
    for (const { jobId, lease, error } of cuts) {
      const stream = this.#stream(jobId, lease, nowAt);
      this.#unconfirmed.remove(stream);
      if (error?.code === clientClosed.code) this.#stopUnread(stream);
      const told = stream.hasEvents ? (error ?? MOVED_ON) : error;
      stream.finish(told ?? streamLost, nowAt);
      if (error === null && stream.hasBegunAnswer) this.#tell((tenant) => tenant.endBegunAnswer(jobId));
    }
  }

  /** How many characters of content each attempt has said, as far as the relay knows; null: nothing of it. */
  async said(leases: readonly StreamLease[]): Promise<(number | null)[]> {
    return leases.map((lease) => {
      const stream = this.#streams.get(keyOf(lease));
      if (stream === undefined || !stream.hasEvents) return null;
      const { window, saidChars } = stream;
      return window === "" ? saidChars : Math.ceil((contentCharsIn(window) * saidChars) / window.length);
    });
  }

  /** `liveHashes`: of the secrets that are still valid. */
  async endKey(keyId: string, liveHashes: readonly string[]): Promise<void> {
    for (const socket of this.ctx.getWebSockets()) {
      const line = socket.deserializeAttachment() as OpenedLine | null;
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

  async readBody(jobId: string): Promise<string | null> {
    return this.#bodies.read(jobId);
  }

  async dropBody(jobId: string): Promise<void> {
    await this.#bodies.drop(jobId);
  }

  override async alarm(): Promise<void> {
    await this.#bodies.dropOld(Date.now());
  }

  get #bodies(): HeldBodies {
    return new HeldBodies(this.ctx.storage);
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
    const key = keyOf({ jobId, lease });
    const known = this.#streams.get(key);
    if (known !== undefined) return known;
    const made = new RelayedStream(jobId, lease, nowAt);
    this.#streams.set(key, made);
    this.#unconfirmed.add(made);
    if (this.#streams.size > MAX_STREAMS) this.#dropOldest();
    noteHolder(this.#id);
    this.#ticking ??= setInterval(() => this.#tick(), TICK_MS);
    return made;
  }

  /** Bounds the memory for a worker that sends streams of jobs it does not have. */
  #dropOldest(): void {
    for (const [key, stream] of this.#streams) {
      if (stream.readers.size + stream.awaitedBy > 0) continue;
      this.#unconfirmed.remove(stream);
      this.#streams.delete(key);
      return;
    }
  }

  /** The stream has no reader any more: its worker stops, and the tenant ends the job. */
  #readerGone(stream: RelayedStream, isSlow: boolean): void {
    this.#stopUnread(stream);
    this.#tell((tenant) => tenant.readerGone(stream.jobId, stream.lease, isSlow));
  }

  /** Its worker is told once, whether the relay or the tenant hears first that the client has left. */
  #stopUnread(stream: RelayedStream): void {
    if (!stream.isReaderGone) this.stopWriter(stream);
    stream.isReaderGone = true;
  }

  /** Its worker need not go on. */
  protected stopWriter({ jobId, lease }: StreamLease): void {
    const message = JSON.stringify({ type: "reader.gone", job_id: jobId, lease });
    for (const line of this.ctx.getWebSockets()) send(line, message);
  }

  protected get instance(): string {
    return (this.ctx.id.name ?? "").split("/").slice(1).join("/");
  }

  #tell(say: (tenant: StreamOwner) => Promise<unknown>): void {
    this.ctx.waitUntil(say(this.tenant()).catch(() => undefined));
  }

  /** The class's own types; the stub's types wrap the answers a second time. */
  protected tenant(): StreamOwner & RunnerOwner {
    const [tenant = ""] = (this.ctx.id.name ?? "").split("/");
    const line = this.ctx.getWebSockets()[0]?.deserializeAttachment() as OpenedLine | null | undefined;
    const jurisdiction = this.jurisdiction ?? line?.jurisdiction ?? null;
    return objectNamed(this.env.TENANT, tenant, jurisdiction) as unknown as StreamOwner & RunnerOwner;
  }

  /** What only time decides. */
  #tick(): void {
    const nowAt = Date.now();
    this.#endLost(nowAt);
    this.#forgetUnwanted(nowAt);
    this.#serveReaders(nowAt);
    this.#confirm();
    this.#checkHolders(nowAt);
    this.#makeRoom();
    const silent = [...this.#streams.values()].filter((stream) => stream.shouldAsk(nowAt));
    if (silent.length > 0) this.ctx.waitUntil(this.#askAbout(silent).catch(() => undefined));
    if (this.#streams.size > 0 || this.#ticking === null) return;
    clearInterval(this.#ticking);
    this.#ticking = null;
    forgetHolder(this.#id);
  }

  #checkHolders(nowAt: number): void {
    if (nowAt - this.#holdersAt < HOLDERS_EVERY_MS) return;
    this.#holdersAt = nowAt;
    const open = [...this.#streams.values()].flatMap((stream) => stream.heldOpen());
    this.#tell((tenant) => endInvalid(open, (holders) => tenant.areValid(holders)));
  }

  /** Streams whose worker, or whose line, has been gone for too long. One without events may begin elsewhere. */
  #endLost(nowAt: number): void {
    const isLineLost = this.#lineLostAt !== null && nowAt - this.#lineLostAt >= END_GRACE_MS;
    if (isLineLost) this.#lineLostAt = null;
    for (const stream of this.#streams.values())
      if ((isLineLost || stream.isLost(nowAt)) && stream.hasEvents) this.#finish(stream, streamLost, nowAt);
  }

  #forgetUnwanted(nowAt: number): void {
    for (const [key, stream] of this.#streams) {
      if (!stream.isForgettable(nowAt)) continue;
      this.#unconfirmed.remove(stream);
      this.#streams.delete(key);
    }
  }

  #serveReaders(nowAt: number): void {
    for (const stream of this.#streams.values()) {
      for (const reader of stream.readers) {
        if (!stream.isWithinEvent) reader.keepAlive(nowAt);
        if (reader.isSlow(nowAt, stream.longEventBytes)) this.#cutSlow(stream, reader);
      }
    }
  }

  /** A silent stream may belong to a job that has ended, if that message was lost. */
  async #askAbout(streams: readonly RelayedStream[]): Promise<void> {
    const ends = await this.tenant().endsOf(streams.map(leaseOf));
    const nowAt = Date.now();
    for (const [index, end] of ends.entries()) {
      const stream = streams[index];
      if (stream === undefined || end === "open") continue;
      this.#finish(stream, end === "whole" ? null : end, nowAt);
    }
  }
}

const refused = (stream: RelayedStream): Response =>
  new Response(stream.isReaderGone ? "reader_gone" : "lease_lost", { status: CONFLICT });
