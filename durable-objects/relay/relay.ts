// Connects workers' streams with their readers, in memory only: deployed, one object per worker (`<tenant>/<instance>`),
// on a server one for all of a tenant's workers (`<tenant>/streams`). The tenant decides who runs what; no output passes
// through it. What is kept of streams, and for how long, is in `worker-streams.ts`; here are the ways in. The same class
// stores bodies that are too large for the tenant (`<tenant>/body/<slot>`).

import { DurableObject } from "cloudflare:workers";
import {
  MAX_DATA_FRAME_BYTES,
  MAX_FRAME_PARTS,
  MAX_PART_BYTES,
  readParts,
  splitFrame,
} from "../../contract/data-line.ts";
import {
  CONFLICT,
  NO_CONTENT,
  NOT_FOUND,
  OK,
  SWITCHING_PROTOCOLS,
  TOO_MANY_REQUESTS,
} from "../../contract/words/http-status.ts";
import { closeCodes } from "../../contract/words/values.ts";
import { type Jurisdiction, objectNamed } from "../object-name.ts";
import { answerClose, close, send } from "../sockets/hibernating-sockets.ts";
import { LINE_URL, openLine } from "../sockets/object-line.ts";
import { NORMAL_CLOSURE, PING, PONG } from "../sockets/tenant-socket.ts";
import type { HandedOver } from "../turn/effects.ts";
import { HeldBodies } from "./held-bodies.ts";
import { endInvalid } from "./holder-check.ts";
import { placeForLine } from "./line-place.ts";
import { ReadingLine } from "./reading-line.ts";
import { UNCONFIRMED_BYTES } from "./relay-bounds.ts";
import { heldJobOf, type ReadRequest, readRequestOf } from "./relay-request.ts";
import type { RunnerOwner } from "./runner-owner.ts";
import type { Cut, StreamLease, StreamOwner, WorkersLease } from "./stream-owner.ts";
import { answerRead, type OpenOutlet } from "./stream-reader.ts";
import { WorkerStreams } from "./worker-streams.ts";

interface RelayEnv {
  readonly TENANT: DurableObjectNamespace<DurableObject & StreamOwner & RunnerOwner>;
}

interface OpenedLine {
  readonly instance: string;
  readonly keyId: string;
  readonly openedWith: string;
  readonly jurisdiction: Jurisdiction | null;
}

const KEY_ENDED = [closeCodes.keyEnded, "the key has ended"] as const;

/** What a data line was opened with; null before it is accepted. */
const lineOf = (socket: WebSocket): OpenedLine | null => socket.deserializeAttachment();

export class Relay<Env extends RelayEnv = RelayEnv> extends DurableObject<Env> {
  protected jurisdiction: Jurisdiction | null = null;
  /** Lines that were closed for what they said: frames that were in transit are ignored. */
  readonly #refused = new WeakSet<WebSocket>();
  /** Of the workers that have some. */
  readonly #streams = new Map<string, WorkerStreams>();

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    state.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
  }

  override async fetch(request: Request): Promise<Response> {
    if (request.url === LINE_URL)
      return openLine((tell) => new ReadingLine(tell, this, (query, open) => this.#join(this.#askedBy(query), open)));
    const heldFor = heldJobOf(request.url);
    if (heldFor !== null) return this.#heldBody(heldFor, request);
    if (request.headers.get("upgrade") === "websocket") return this.#openLine(request);
    const asked = this.#askedBy(new URL(request.url).search);
    if (request.method === "POST") return this.#write(asked, request);
    return answerRead((open) => this.#join(asked, open), request.signal);
  }

  protected streamsOf(instance: string): WorkerStreams {
    const known = this.#streams.get(instance);
    if (known !== undefined) return known;
    const made = new WorkerStreams({
      holder: `${this.ctx.id} ${instance}`,
      instance,
      tenant: () => this.tenant(),
      stopWriter: (lease) => this.stopWriter(instance, lease),
      tellTaken: (lease, chars) => this.#tellLine(instance, "reader.took", lease, { chars }),
      waitUntil: (work) => this.ctx.waitUntil(work),
      onEmpty: () => this.#streams.delete(instance),
    });
    this.#streams.set(instance, made);
    return made;
  }

  #join(asked: ReadRequest, open: OpenOutlet): Promise<number> {
    return this.streamsOf(asked.instance).join(asked, open);
  }

  #askedBy(query: string): ReadRequest {
    const asked = readRequestOf(query);
    this.jurisdiction = asked.jurisdiction;
    return asked;
  }

  /** As bytes both ways: what a method answers may have 32 MiB, and text beyond Latin-1 counts twice there. */
  async #heldBody(jobId: string, request: Request): Promise<Response> {
    if (request.method === "GET") {
      const text = this.#bodies.read(jobId);
      return new Response(text, { status: text === null ? NOT_FOUND : OK });
    }
    await this.#bodies.hold(jobId, await request.text(), Date.now());
    return new Response(null, { status: NO_CONTENT });
  }

  /** Over HTTP: for networks without WebSockets. */
  async #write(asked: ReadRequest, { body }: Request): Promise<Response> {
    const why = await this.streamsOf(asked.instance).take(asked, body);
    return new Response(why, { status: why === null ? NO_CONTENT : CONFLICT });
  }

  #openLine(request: Request): Response {
    const opening = JSON.parse(request.headers.get("x-signalbox-line") ?? "") as OpenedLine & { holder: string };
    const { holder, ...line } = opening;
    const { instance } = line;
    const older = this.ctx.getWebSockets(instance);
    if (older.length === 0 && !this.#makeLineRoom()) return new Response(null, { status: TOO_MANY_REQUESTS });
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    this.ctx.acceptWebSocket(server, [instance]);
    server.serializeAttachment(line);
    this.#streams.get(instance)?.noteLine(null);
    for (const one of older) close(one, closeCodes.replaced, "another data line of this instance took over");
    // The key may have ended after the tenant let this line in: the tenant told only the lines that were open then.
    const asked = [{ holder, end: () => close(server, ...KEY_ENDED) }];
    this.ctx.waitUntil(endInvalid(asked, (holders) => this.tenant().areValid(holders)).catch(() => undefined));
    return new Response(null, { status: SWITCHING_PROTOCOLS, webSocket: client });
  }

  #makeLineRoom(): boolean {
    const place = placeForLine(this.ctx.getWebSockets(), (line) => this.#streams.has(this.#instanceOf(line)));
    if (place === null) return false;
    if (place !== "free")
      close(place, closeCodes.idle, "another data line needs the place: open it with the next stream");
    return true;
  }

  override async webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): Promise<void> {
    if (this.#refused.has(socket)) return;
    if (typeof frame !== "string" || frame.length > MAX_DATA_FRAME_BYTES)
      return close(socket, closeCodes.badFrame, `a frame is text of at most ${MAX_DATA_FRAME_BYTES} bytes`);
    const texts = splitFrame(frame);
    if (texts === null)
      return close(
        socket,
        closeCodes.badFrame,
        `a frame has at most ${MAX_FRAME_PARTS} parts of at most ${MAX_PART_BYTES} bytes`,
      );
    const parts = readParts(texts);
    if (parts.length === 0) return;
    const streams = this.streamsOf(this.#instanceOf(socket));
    const nowAt = Date.now();
    for (const part of parts) {
      if (part.kind === "events") streams.publish(part, part.events, nowAt);
      else streams.finish(part, part.error, nowAt);
      if (streams.unconfirmedChars <= UNCONFIRMED_BYTES) continue;
      streams.refuseUnconfirmed();
      this.#refused.add(socket);
      close(socket, closeCodes.tooManyMessages, `more than ${UNCONFIRMED_BYTES} bytes for jobs that it does not have`);
      break;
    }
    streams.confirm();
  }

  override async webSocketClose(socket: WebSocket): Promise<void> {
    answerClose(socket);
    const instance = this.#instanceOf(socket);
    const lines = this.ctx.getWebSockets(instance);
    const isReplaced = lines.some((one) => one !== socket && one.readyState === WebSocket.OPEN);
    if (!isReplaced) this.#streams.get(instance)?.noteLine(Date.now());
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    await this.webSocketClose(socket);
  }

  async cut(cuts: readonly Cut[]): Promise<void> {
    for (const [instance, some] of Map.groupBy(cuts, (cut) => cut.instance)) this.streamsOf(instance).cut(some);
  }

  async said(leases: readonly WorkersLease[]): Promise<(number | null)[]> {
    return leases.map((lease) => this.#streams.get(lease.instance)?.said(lease) ?? null);
  }

  /** `liveHashes`: of the secrets that are still valid. */
  async endKey(keyId: string, liveHashes: readonly string[]): Promise<void> {
    for (const socket of this.ctx.getWebSockets()) {
      const line = lineOf(socket);
      if (line?.keyId === keyId && !liveHashes.includes(line.openedWith)) close(socket, ...KEY_ENDED);
    }
  }

  /** Workers that were forgotten, or belong to another key now: others' lines end. */
  async endOthers(workers: readonly Pick<HandedOver, "instance" | "keyId">[]): Promise<void> {
    for (const { instance, keyId } of workers)
      for (const socket of this.ctx.getWebSockets(instance)) {
        if (lineOf(socket)?.keyId !== keyId) close(socket, NORMAL_CLOSURE, "the worker is no longer this key's");
      }
  }

  /** The tenant was deleted. */
  async end(): Promise<void> {
    for (const streams of this.#streams.values()) streams.endAll();
    for (const socket of this.ctx.getWebSockets()) close(socket, closeCodes.keyEnded, "the tenant was deleted");
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

  /** Its worker need not go on. */
  protected stopWriter(instance: string, lease: StreamLease): void {
    this.#tellLine(instance, "reader.gone", lease);
  }

  #tellLine(instance: string, type: string, { jobId, lease }: StreamLease, more: object = {}): void {
    const message = JSON.stringify({ type, job_id: jobId, lease, ...more });
    for (const line of this.ctx.getWebSockets(instance)) send(line, message);
  }

  /** Whose line it is. */
  #instanceOf(socket: WebSocket): string {
    return this.ctx.getTags(socket)[0] ?? "";
  }

  protected tenant(): StreamOwner & RunnerOwner {
    const [tenant = ""] = (this.ctx.id.name ?? "").split("/");
    const jurisdiction = this.jurisdiction ?? this.#jurisdictionOfLines() ?? null;
    return objectNamed(this.env.TENANT, tenant, jurisdiction);
  }

  /** After it has slept with its lines. */
  #jurisdictionOfLines(): Jurisdiction | null | undefined {
    const [line] = this.ctx.getWebSockets();
    return line === undefined ? undefined : lineOf(line)?.jurisdiction;
  }
}
