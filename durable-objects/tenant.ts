// One tenant: the single writer of its live state. Requests, frames and the alarm become turns; turns share
// commits; what they leave to send goes out behind the output gate. The verbs are in `operations/`.

import { DurableObject } from "cloudflare:workers";
import type { JobResource } from "../contract/job.ts";
import type { KeyResource } from "../contract/key.ts";
import { configureLog, type LogSettings, log } from "../contract/log.ts";
import { type CoordinatorMessage, MAX_FRAME_BYTES } from "../contract/socket.ts";
import { closeCodes } from "../contract/values.ts";
import type { ClaimAnswer } from "../contract/worker.ts";
import { SERVICE_ACTOR } from "../domain/event.ts";
import { isCutOff } from "../domain/fleet.ts";
import type { Brought } from "../domain/job-record.ts";
import { isFinal } from "../domain/job-status.ts";
import { authenticate, authorize } from "../domain/key.ts";
import { FULL_HALT, permit } from "../domain/killswitch.ts";
import type { Refusal } from "../domain/refusal.ts";
import { err, ok, type Result } from "../domain/result.ts";
import { type AnswerOf, OPERATIONS, type OperationName, type RequestOf } from "./api.ts";
import { type Absent, findArchivedRecord } from "./archive.ts";
import { DoorWaits, type WatchRequest } from "./door-waits.ts";
import { DRAIN_DELAY_MS, Drain } from "./drain.ts";
import { answerGroup } from "./grouped-calls.ts";
import { idSource } from "./ids.ts";
import { Live } from "./live.ts";
import type { Jurisdiction } from "./object-name.ts";
import { type AttemptEnd, abandon, attemptEnd } from "./operations/abandon.ts";
import type { Outgoing } from "./operations/announcement.ts";
import { applyCatalog, type CatalogReport } from "./operations/catalog.ts";
import { type Counters, countersFrom, storedCounters } from "./operations/counters.ts";
import { settleDelivery, writeDeliveries } from "./operations/deliveries.ts";
import type { Asked, Asking, AskWait, Followed } from "./operations/front-door.ts";
import {
  addAdminKey,
  type Credential,
  createTenant,
  identify,
  type NewKey,
  type NewTenant,
} from "./operations/keys.ts";
import { loadMemory, type Memory } from "./operations/memory.ts";
import { OutboxWriter } from "./operations/outbox-writer.ts";
import { mayActAs, noteDisconnected } from "./operations/presence.ts";
import { assignWaiting } from "./operations/routing.ts";
import { nextWakeAt, sweeps } from "./operations/sweep.ts";
import { type Caller, type Effects, Turn } from "./operations/turn.ts";
import type { Relay } from "./relay.ts";
import { Relays } from "./relays.ts";
import { absentJobOf, acknowledge, handleMessage, type Incoming, parseFrame, welcome } from "./socket-messages.ts";
import { type Attachment, answerClose, attachmentOf, close, Sockets } from "./sockets.ts";
import { type OtlpSettings, SpanExporter } from "./span-exporter.ts";
import { openStore, type Store } from "./store/open.ts";
import type { OutboxRow } from "./store/outbox.ts";
import { TurnQueue } from "./turns.ts";
import { Waiters } from "./waiters.ts";
import { Wake } from "./wake.ts";
import { sendDelivery } from "./webhook-sender.ts";

/** What the object needs of the platform's bindings. */
interface TenantEnv extends LogSettings, OtlpSettings {
  readonly RELAY: DurableObjectNamespace<Relay>;
  /** `1` lets webhooks go to private addresses. */
  readonly SERVICE_WEBHOOKS_PRIVATE?: string;
}

const OPERATOR: Caller = { keyId: null, name: "operator", role: "admin" };
const SERVICE: Caller = { ...SERVICE_ACTOR, role: "admin" };
/** After a sweep that failed the alarm looks again this soon. */
const FAILED_SWEEP_RETRY_MS = 5_000;
const FULL_RETRY_SECONDS = 30;
const STATUS_SWITCHING = 101;

export class Tenant extends DurableObject<TenantEnv> {
  readonly #store: Store;
  readonly #sockets: Sockets;
  readonly #turns: TurnQueue;
  readonly #drain: Drain;
  readonly #live: Live;
  readonly #relays: Relays;
  readonly #door: DoorWaits;
  readonly #spans: SpanExporter;
  readonly #waiters = new Waiters();
  /** Accepted claims that wait, by worker. */
  readonly #waitingClaims = new Map<string, number>();
  #counters: Counters | null = null;
  /** Counted apart: a sweep that fails is undone, and has failed all the same. */
  readonly #sweepFailures = new Map<string, number>();
  readonly #nextId = idSource((count) => crypto.getRandomValues(new Uint8Array(count)));
  #memory: Memory | null = null;
  /** What the turns of this commit tell history together. */
  #outbox: OutboxWriter | null = null;
  /** What they leave to do after the commit, in their order. */
  #afterwards: (() => void)[] = [];
  readonly #wake: Wake;

  constructor(state: DurableObjectState, env: TenantEnv) {
    super(state, env);
    configureLog(env);
    this.#spans = new SpanExporter(env, state.id.name ?? "");
    this.#store = openStore(state.storage);
    this.#sockets = new Sockets(state);
    this.#turns = new TurnQueue(state.storage, {
      close: () => this.#storeOutbox(),
      tell: () => this.#tellAll(),
      undo: (error) => this.#undo(error),
    });
    this.#drain = new Drain({
      store: this.#store,
      tenant: state.id.name ?? "",
      now: Date.now,
      random: Math.random,
      apply: (inserts) => this.#applyToHistory(inserts),
      noteStored: (rows) => this.#exportSpans(rows),
      removeUpTo: (seq) => this.#removeDrained(seq),
    });
    this.#live = new Live(this.#sockets, (read) => this.#turns.run(() => read(this.#newTurn(SERVICE))));
    this.#wake = new Wake(state);
    const jurisdiction = () =>
      env.LOCAL_NETWORK === undefined ? (this.#store.settings.identity()?.jurisdiction ?? null) : null;
    this.#door = new DoorWaits({
      call: (credential, name, request) => this.call(credential, name, request),
      findJob: (id) => this.#store.jobs.find(id),
      waiters: this.#waiters,
    });
    this.#relays = new Relays(env.RELAY, state.id.name ?? "", jurisdiction as () => Jurisdiction | null);
  }

  /** Creates the tenant with its first admin key. Only the edge calls it, for the holder of the root key. */
  async create(request: NewTenant): Promise<Result<null, Refusal>> {
    return this.#turns.run(() => this.#inTurn(SERVICE, (turn) => createTenant(turn, request)));
  }

  /** Another admin key. Only the edge calls it, for the holder of the root key. */
  async addAdminKey(request: NewKey): Promise<Result<KeyResource, Refusal>> {
    return this.#turns.run(() => this.#inTurn(OPERATOR, (turn) => addAdminKey(turn, request)));
  }

  /**
   * Ends the tenant: its keys, its sockets and all live data. Only the edge calls it, for the holder of the root key,
   * and deletes the history afterwards: when this is over, nothing of the tenant is on its way to D1.
   */
  async destroy(): Promise<void> {
    const instances = [...this.#loaded().fleet.members()].map(({ worker }) => worker.instance);
    this.ctx.waitUntil(this.#relays.endAll(instances));
    await this.ctx.blockConcurrencyWhile(async () => {
      this.#sockets.endAll();
      await this.ctx.storage.deleteAlarm();
      await this.ctx.storage.deleteAll();
      openStore(this.ctx.storage);
      this.#undo(null);
    });
    this.#waiters.notifyAll("");
    await this.#drain.ended();
  }

  /** Any operation of `api.ts`, authenticated and carried out in one turn. */
  async call<Name extends OperationName>(
    credential: Credential,
    name: Name,
    request: RequestOf<Name>,
  ): Promise<Result<AnswerOf<Name>, Refusal>> {
    const operation = OPERATIONS[name];
    const run = operation.run as (turn: Turn, asked: unknown) => Result<AnswerOf<Name>, Refusal>;
    return this.#turns.run(() => {
      const caller = identify(this.#store, credential, Date.now());
      if (!caller.ok) return caller;
      const authorized = authorize(caller.value.role, operation.needs);
      if (!authorized.ok) return authorized;
      const permitted = "isPermittedByVerb" in operation ? ok(null) : permit(this.#loaded().killswitch, operation.kind);
      if (!permitted.ok) return permitted;
      return this.#inTurn(caller.value, (turn) => run(turn, request));
    });
  }

  /** A group of calls in one message (`grouped-calls.ts`). */
  async callMany(group: string): Promise<string> {
    return answerGroup(
      group,
      (begin) => this.#turns.together(begin),
      (credential, name, request) => this.call(credential, name, request),
    );
  }

  /** A claim that waits for a job for up to `waitMs`. */
  async claimWaiting(
    credential: Credential,
    request: { instance: string; max: number },
    waitMs: number,
  ): Promise<Result<ClaimAnswer, Refusal>> {
    const { instance } = request;
    const waiter = this.#waiters.open(`claim ${instance}`, waitMs);
    const claimed = await this.call(credential, "claim", { ...request, isWaiting: true });
    if (!claimed.ok || claimed.value.jobs.length > 0) {
      waiter.cancel();
      if (claimed.ok) this.#countClaim(instance, 0);
      return claimed;
    }
    this.#countClaim(instance, 1);
    await waiter.woken;
    const last = await this.call(credential, "claim", { ...request, isWaiting: false });
    this.#countClaim(instance, -1);
    return last;
  }

  /** While any claim of it waits, the worker is alive. */
  #countClaim(instance: string, change: number): void {
    const count = (this.#waitingClaims.get(instance) ?? 0) + change;
    if (count > 0) this.#waitingClaims.set(instance, count);
    else this.#waitingClaims.delete(instance);
    this.#memory?.fleet.noteReach(instance, { isClaiming: count > 0 });
  }

  /** A job as it is now, or as it is when it is final, if that comes within `waitMs`. */
  async getJobWaiting(credential: Credential, id: string, waitMs: number): Promise<Result<JobResource, Refusal>> {
    const waiter = this.#waiters.open(`job ${id}`, waitMs);
    const found = await this.call(credential, "getJob", { id });
    if (!found.ok || isFinal(found.value.status)) {
      waiter.cancel();
      return found;
    }
    await waiter.woken;
    return this.call(credential, "getJob", { id });
  }

  /** The job of a request of the front door (`door-waits.ts`). */
  async ask(credential: Credential, request: Asking, wait: AskWait): Promise<Result<Asked, Refusal>> {
    return this.#door.ask(credential, request, wait);
  }

  async watch(credential: Credential, request: WatchRequest, waitMs: number): Promise<Result<Followed, Refusal>> {
    return this.#door.watch(credential, request, waitMs);
  }

  /** A relay's reader has left, or reads too slowly. Only relays call it. */
  async readerGone(jobId: string, lease: number, isSlow: boolean): Promise<void> {
    await this.#turns.run(() =>
      this.#inTurn(SERVICE, (turn) =>
        turn.store.jobs.find(jobId)?.lease === lease ? abandon(turn, { id: jobId, isSlow }) : ok(false),
      ),
    );
  }

  /** How attempts ended, or that they go on. Only relays ask. */
  async endsOf(leases: readonly { jobId: string; lease: number }[]): Promise<AttemptEnd[]> {
    return this.#turns.run(() => leases.map((one) => attemptEnd(this.#newTurn(SERVICE), one)));
  }

  /** Brings D1 up to date with everything before this call; false while D1 is away. */
  async drain(): Promise<boolean> {
    return this.#drain.flush();
  }

  /** What a sync found; only the edge calls it, after it stored the list. */
  async learnCatalog(report: CatalogReport): Promise<Result<null, Refusal>> {
    return this.#turns.run(() => this.#inTurn(SERVICE, (turn) => applyCatalog(turn, report)));
  }

  async isSyncHalted(): Promise<boolean> {
    return this.#turns.run(() => this.#loaded().killswitch.level >= FULL_HALT);
  }

  /** The Cron Trigger's nudge for a tenant whose alarm is long overdue. */
  async poke(): Promise<void> {
    await this.alarm();
    await this.#noteWakeStatement().run();
  }

  override async fetch(request: Request): Promise<Response> {
    const credential = JSON.parse(request.headers.get("x-signalbox-credential") ?? "{}") as Credential;
    const instance = request.headers.get("x-signalbox-instance");
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    const accepted = await this.#turns.run((): Result<null, Refusal> => {
      const caller = identify(this.#store, credential, Date.now());
      if (!caller.ok) return caller;
      const authorized = authorize(caller.value.role, instance === null ? "observe" : "work");
      if (!authorized.ok) return authorized;
      const allowed = instance === null ? ok(null) : mayActAs(this.#newTurn(caller.value), instance);
      if (!allowed.ok) return allowed;
      if (this.#sockets.isFull) return err({ code: "overloaded", retryAfterSeconds: FULL_RETRY_SECONDS });
      this.#accept(server, caller.value, instance, credential.kind === "session" ? credential.id : null);
      return ok(null);
    });
    if (!accepted.ok) return Response.json(accepted.error, { status: 403 });
    return new Response(null, { status: STATUS_SWITCHING, webSocket: client });
  }

  #accept(socket: WebSocket, caller: Caller, instance: string | null, sessionId: string | null): void {
    const attachment: Attachment = {
      kind: instance === null ? "viewer" : "worker",
      keyId: caller.keyId ?? "",
      name: caller.name,
      role: caller.role,
      instance: instance ?? "",
      connectedAt: Date.now(),
      openedWith: caller.secretHash ?? "",
      sessionId,
      seq: 0,
    };
    this.#afterwards.push(() => this.#sockets.accept(socket, attachment));
    if (instance === null) this.#afterwards.push(() => this.#live.welcome(socket));
    else
      this.#inTurn(caller, (turn) => {
        for (const message of welcome(turn, instance)) this.#say(socket, message);
        return ok(null);
      });
  }

  #say(socket: WebSocket, message: CoordinatorMessage): void {
    this.#afterwards.push(() => this.#sockets.queue(socket, message));
  }

  override async webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): Promise<void> {
    const attachment = attachmentOf(socket);
    if (attachment === null || attachment.kind === "viewer") return;
    if (typeof frame !== "string" || frame.length > MAX_FRAME_BYTES)
      return close(socket, closeCodes.badFrame, `a frame is text of at most ${MAX_FRAME_BYTES} bytes`);
    const parsed = parseFrame(frame);
    if (!parsed.ok)
      return close(socket, closeCodes.badFrame, "detail" in parsed.error ? parsed.error.detail : "bad frame");
    await Promise.all(parsed.value.map((message) => this.#hear(socket, attachment, message)));
  }

  /** Carries out a message; a report on a job that has left is held against history, as over HTTP. */
  async #hear(socket: WebSocket, attachment: Attachment, incoming: Incoming): Promise<void> {
    let absent = await this.#turns.run(() => this.#handle(socket, attachment, incoming));
    for (let looks = 0; absent !== null; looks += 1) {
      const found = await findArchivedRecord(this.env.DB, this.ctx.id.name ?? "", absent, looks);
      absent = await this.#turns.run(() => {
        if (found.ok) return this.#handle(socket, attachment, incoming, found.value);
        this.#say(socket, acknowledge(incoming.id, found));
        return null;
      });
    }
  }

  /** Answers a job that must be looked for in history; `archived` is null where it has none. */
  #handle(
    socket: WebSocket,
    { keyId, name, role, instance, openedWith }: Attachment,
    { id, message }: Incoming,
    archived?: Brought | null,
  ): Absent | null {
    if (!authenticate(this.#store.keys.find(keyId), openedWith, Date.now()).ok) {
      this.#afterwards.push(() => close(socket, closeCodes.keyEnded, "the key has ended"));
      return null;
    }
    let absent: Absent | null = null;
    this.#inTurn({ keyId, name, role }, (turn) => {
      const done = message.ok ? handleMessage(turn, instance, message.value, archived ?? null) : message;
      absent = archived === null ? null : absentJobOf(done);
      // Before what else the message leads to.
      if (absent === null) this.#say(socket, acknowledge(id, done));
      return done;
    });
    return absent;
  }

  override async webSocketClose(socket: WebSocket): Promise<void> {
    answerClose(socket);
    const left = this.#sockets.forget(socket);
    if (left === null) return;
    const { instance, signAt } = left;
    await this.#turns.run(() =>
      this.#inTurn(SERVICE, (turn) => {
        noteDisconnected(turn, instance, { signAt, isConnected: this.#sockets.isConnected(instance) });
        return ok(null);
      }),
    );
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    await this.webSocketClose(socket);
  }

  /** Runs the timetable; never throws, always arms the next. */
  override async alarm(): Promise<void> {
    this.#wake.clear();
    const swept = sweeps.map(({ what, run }) =>
      this.#turns
        .run(() => this.#inTurn(SERVICE, (turn) => ok(run(turn))))
        .catch((error: unknown) => {
          log("error", "sweep.failed", { tenant: this.ctx.id.name, what }, error);
          this.#sweepFailures.set(what, (this.#sweepFailures.get(what) ?? 0) + 1);
          throw error;
        }),
    );
    await Promise.all(swept)
      .then(() => this.#turns.run(() => this.#wake.note(nextWakeAt(this.#newTurn(SERVICE)))))
      .catch(() => this.#wake.backOff(FAILED_SWEEP_RETRY_MS));
    const draining = this.#drain.start();
    if (draining !== null) this.ctx.waitUntil(draining.then(() => this.#wake.arm(this.#drain.dueAt())));
    this.#wake.arm(this.#drain.dueAt());
  }

  #loaded(): Memory {
    if (this.#memory !== null) return this.#memory;
    const sweepFailures = this.#sweepFailures;
    this.#counters ??= { ...countersFrom(this.#store.settings.counters()), sweepFailures };
    const memory = loadMemory(this.#store, Date.now(), this.#counters);
    for (const instance of this.#sockets.connectedInstances()) memory.fleet.noteReach(instance, { isConnected: true });
    for (const member of memory.fleet.members()) {
      if (member.load > 0 && isCutOff(member)) memory.socketGoneAt.set(member.worker.instance, Date.now());
    }
    for (const instance of this.#waitingClaims.keys()) memory.fleet.noteReach(instance, { isClaiming: true });
    this.#memory = memory;
    // An alarm that was lost comes back with the first turn.
    this.#wake.note(nextWakeAt(this.#newTurn(SERVICE)));
    this.#wake.note(this.#drain.dueAt());
    return memory;
  }

  #newTurn(caller: Caller): Turn {
    const nowAt = Date.now();
    const context = {
      nowAt,
      random: Math.random,
      newId: () => this.#nextId(nowAt),
      lastSocketSign: (instance: string) => this.#sockets.lastSignOf(instance),
    };
    const memory = this.#loaded();
    this.#outbox ??= new OutboxWriter(memory);
    return new Turn(this.#store, memory, this.#outbox, context, caller);
  }

  /** One turn: the verb, then the queue; its effects wait for the commit. */
  #inTurn<T>(caller: Caller, work: (turn: Turn) => Result<T, Refusal>): Result<T, Refusal> {
    const turn = this.#newTurn(caller);
    const result = work(turn);
    // A refusal writes nothing, but on its way it may have noticed a worker that is back.
    if (!result.ok && turn.freedWorkers.size === 0 && !turn.hasSpent) return result;
    assignWaiting(turn);
    writeDeliveries(turn);
    this.#wake.note(turn.wakeAt);
    this.#afterwards.push(() => this.#tell(turn.effects));
    return result;
  }

  #storeOutbox(): void {
    for (const row of this.#outbox?.rows ?? []) {
      this.#store.outbox.put(row);
      this.#wake.note(row.at + DRAIN_DELAY_MS);
    }
    this.#outbox = null;
  }

  #tellAll(): void {
    for (const one of this.#afterwards.splice(0)) {
      try {
        one();
      } catch (error) {
        // One socket that the platform does not take keeps nobody else from hearing.
        console.error(`tenant ${this.ctx.id.name}: one effect of a stored turn failed`, error);
      }
    }
    this.#sockets.flush();
    this.#wake.armNoted();
  }

  #tell(effects: Effects): void {
    for (const { instance, message } of effects.frames) this.#sockets.queueFor(instance, message);
    for (const instance of effects.wokenWorkers) this.#waiters.notify(`claim ${instance}`);
    for (const { message, except } of effects.broadcast) {
      this.#sockets.queueForAll(message, except);
      this.#waiters.notifyAll("claim ");
    }
    for (const id of effects.changedJobs) this.#waiters.notify(`watch ${id}`);
    for (const id of effects.finishedJobs) this.#waiters.notify(`job ${id}`);
    const told = this.#relays.tell(effects, this.#memory);
    if (told !== null) this.ctx.waitUntil(told);
    for (const [keyId, liveHashes] of effects.endedKeys) this.#sockets.endKey(keyId, liveHashes);
    for (const id of effects.endedSessions) this.#sockets.endSession(id);
    for (const instance of effects.forgottenWorkers) this.#sockets.endWorker(instance);
    for (const { level, event, fields } of effects.log) log(level, event, { tenant: this.ctx.id.name, ...fields });
    for (const delivery of effects.deliveries) this.ctx.waitUntil(this.#deliver(delivery));
    this.#live.note(effects);
  }

  /** Of the jobs that ended in these rows; what is changed after a job's end makes no second trace. */
  #exportSpans(rows: readonly OutboxRow[]): void {
    if (!this.#spans.isOn) return;
    const events = rows.flatMap(({ entries }) => entries.events).filter(({ type }) => type !== "job.updated");
    const lastVersions = new Map(events.map(({ jobId, version }) => [jobId, version]));
    const jobs = this.#store.jobs.findMany([...lastVersions.keys()]).map(({ job }) => job);
    const ended = jobs.filter((job) => isFinal(job.status) && lastVersions.get(job.id) === job.version);
    if (ended.length > 0) this.ctx.waitUntil(this.#spans.export(ended));
  }

  #deliver(delivery: Outgoing): Promise<void> {
    const { LOCAL_NETWORK: network, SERVICE_WEBHOOKS_PRIVATE } = this.env;
    const isPrivateAllowed = SERVICE_WEBHOOKS_PRIVATE === "1" && network !== undefined;
    return sendDelivery(
      {
        fetch: (url, init) => (isPrivateAllowed ? network.fetch(url, init) : fetch(url, init)),
        now: Date.now,
        settle: async (id, outcome) => {
          await this.#turns.run(() => this.#inTurn(SERVICE, (turn) => ok(settleDelivery(turn, id, outcome))));
        },
      },
      delivery,
    );
  }

  /** Rows are rolled back, so what memory took over from them must go, too. */
  #undo(error: unknown): void {
    this.#memory = null;
    // What the commit had counted did not happen: counting goes on from what the last drain stored, as after a crash.
    this.#counters = null;
    this.#store.forgetRecent();
    this.#outbox = null;
    this.#afterwards = [];
    if (error !== null) log("error", "turn.failed", { tenant: this.ctx.id.name }, error);
  }

  async #applyToHistory(
    inserts: readonly { sql: string; values: readonly (string | number | null)[] }[],
  ): Promise<void> {
    const tenant = this.ctx.id.name ?? "";
    const statements = inserts.map(({ sql, values }) => this.env.DB.prepare(sql).bind(tenant, ...values));
    await this.env.DB.batch([...statements, this.#noteWakeStatement()]);
  }

  /** Tells the cron when this object is due to wake by itself, and how long its jobs are kept. The outbox is not in it: it is being drained. */
  #noteWakeStatement(): D1PreparedStatement {
    const wakeAt = nextWakeAt(this.#newTurn(SERVICE));
    const { keepDays } = this.#loaded().config.history;
    const sql = "UPDATE tenants SET wake_at = ?2, keep_days = ?3 WHERE tenant = ?1";
    return this.env.DB.prepare(sql).bind(this.ctx.id.name ?? "", wakeAt, keepDays);
  }

  async #removeDrained(seq: number): Promise<void> {
    await this.#turns.run(() => {
      this.#store.outbox.removeUpTo(seq);
      this.#store.settings.putDrainedSeq(seq);
      const memory = this.#loaded();
      memory.drainedSeq = seq;
      this.#store.settings.putCounters(storedCounters(memory.counters));
      const nowAt = Date.now();
      if (this.#store.jobs.unshelve(seq, nowAt)) this.#wake.note(nowAt);
      this.#storeWorkers();
    });
  }

  /** What workers achieved is written once a drain, not once a job: it counts for routing, not for any promise. */
  #storeWorkers(): void {
    const { fleet, unstoredWorkers } = this.#loaded();
    for (const instance of unstoredWorkers) {
      const member = fleet.get(instance);
      if (member !== undefined) this.#store.workers.put(member.worker);
    }
    unstoredWorkers.clear();
  }
}
