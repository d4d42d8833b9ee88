// The life of one object: started, asleep, crashed and started again, on a disk, a history and sockets that outlive it.
// Calls may share one commit: nothing runs until `settle`. For a while there may be two: the former one continues with
// its connections, timers and messages to history, but its storage is closed to it.

import type { Refusal } from "../../../domain/words/refusal.ts";
import type { Result } from "../../../domain/words/result.ts";
import type { AnswerOf, OperationName, RequestOf } from "../../../durable-objects/api.ts";
import type { Credential } from "../../../durable-objects/steps/holders.ts";
import type { Store } from "../../../durable-objects/store/open.ts";
import type { Tenant } from "../../../durable-objects/tenant.ts";
import type { Memory } from "../../../durable-objects/turn/memory/memory.ts";
import { FileObjects } from "../actors/batches.ts";
import { Receiver } from "../actors/receiver.ts";
import { Clock } from "./clock.ts";
import { Disk, DiskHandle, SimulatedFault } from "./disk.ts";
import { History } from "./history.ts";
import { breathe, enter, loadTenant } from "./platform.ts";
import { Random } from "./random.ts";
import { Runners } from "./runner-objects.ts";
import { type SimulatedSocket, SocketTable } from "./sockets.ts";

export const TENANT = "simulated";
const START_AT = Date.UTC(2026, 2, 28, 23, 50);
const MAX_ROUNDS = 2_000;

const heedsNothing = async (): Promise<void> => {};
/** Relays that receive everything and answer nothing. */
const SILENT_RELAYS = {
  getByName: () => ({
    cut: heedsNothing,
    endKey: heedsNothing,
    endOthers: heedsNothing,
    dropBody: heedsNothing,
    end: heedsNothing,
    drop: heedsNothing,
    /** Each attempt has said ten tokens. */
    said: async (leases: readonly unknown[]) => leases.map(() => 40),
  }),
};

/** After a failed sweep the alarm comes again after this time. */
export const FAILED_SWEEP_RETRY_MS = 5_000;

/** The platform ends an object that another has replaced. */
const FORMER_ENDS_AFTER_MS = 30_000;

/** An object that another has replaced and that does not know of it. */
interface Former {
  readonly tenant: Promise<Tenant>;
  readonly sockets: SocketTable;
}

/** A caller's answer; null if it got none and cannot know what was done. */
export type Heard<T> = Result<T, Refusal> | null;

export class Shell {
  readonly clock = new Clock(START_AT);
  #disk = new Disk();
  readonly history = new History();
  readonly files = new FileObjects(this.clock);
  sockets = new SocketTable();
  /** Unexpected errors of the code under test, which nobody injected. */
  readonly surprises: string[] = [];
  /** The object's memory, as last shown by an operation since it was built. */
  memory: Memory | null = null;
  /** What the turns of that memory read and write. */
  store: Store | null = null;
  /** The platform delays its alarms. */
  isAlarmHeld = false;
  /** The other end of the webhooks. */
  readonly receiver = new Receiver(this.clock);
  /** The objects that call providers for it. */
  readonly runners = new Runners();
  alarmCount = 0;
  /** When the reported size of the storage last changed, in elapsed time. */
  filledAt = Number.NEGATIVE_INFINITY;
  /** When a turn last failed. */
  brokenAt = Number.NEGATIVE_INFINITY;
  /** Called with each successful answer. */
  answered: (name: OperationName, request: unknown) => void = () => {};
  /** How often the object was started. */
  lifeCount = 0;
  /** Nothing was undone and the object never died, so it has counted everything. */
  isUnbroken = true;
  /** Checks every state in which the object rests while time passes. */
  atRest: () => void = () => {};
  #tenant: Promise<Tenant> | null = null;
  #former: Former | null = null;
  /** How many of the next calls still go to the former object. */
  misdirectedCount = 0;
  #handle = this.#newHandle();

  constructor(seed: number) {
    enter({
      clock: this.clock,
      random: new Random(seed),
      logged: (values) => this.#logged(values),
      fetch: this.receiver.fetch,
      turnBegan: (turn) => {
        this.memory = turn.memory;
        this.clock.heed();
        this.store = turn.store;
      },
    });
  }

  get disk(): Disk {
    return this.#disk;
  }

  get handle(): DiskHandle {
    return this.#handle;
  }

  #newHandle(): DiskHandle {
    return new DiskHandle(this.disk, () => {
      this.memory = null;
      this.isUnbroken = false;
      this.clock.unheed();
    });
  }

  /** The object, started if necessary. */
  tenant(): Promise<Tenant> {
    this.#tenant ??= this.#start();
    return this.#tenant;
  }

  async #start(): Promise<Tenant> {
    const handle = this.#newHandle();
    this.#handle = handle;
    this.lifeCount += 1;
    const Real = await loadTenant();
    let started: Promise<unknown> = Promise.resolve();
    const { sockets } = this;
    const state = {
      id: { name: TENANT },
      storage: handle,
      blockConcurrencyWhile: (work: () => Promise<unknown>) => {
        started = work();
        return started;
      },
      waitUntil: (work: Promise<unknown>) => void work.catch((error) => this.#surprise("waitUntil", error)),
      acceptWebSocket: (socket: SimulatedSocket, tags: string[]) => sockets.accept(socket, tags),
      getWebSockets: (tag?: string) => sockets.all(tag),
      setWebSocketAutoResponse: () => {},
      getWebSocketAutoResponseTimestamp: (socket: SimulatedSocket) =>
        socket.pingedAt === null ? null : new Date(socket.pingedAt),
    };
    const tenant = new Real(state, {
      DB: this.history.binding,
      RELAY: SILENT_RELAYS,
      RUNNER: this.runners.binding,
      FILES: this.files.binding,
      SERVICE_LOG: "json",
      SERVICE_LOG_LEVEL: "warn",
    });
    await started;
    this.disk.follow();
    return tenant;
  }

  /** Calls an operation as the edge does; gets no answer if the object crashes or its turn fails. */
  async call<Name extends OperationName>(
    credential: Credential,
    name: Name,
    request: RequestOf<Name>,
  ): Promise<Heard<AnswerOf<Name>>> {
    const former = this.misdirectedCount > 0 ? this.#former : null;
    this.misdirectedCount = Math.max(0, this.misdirectedCount - 1);
    const tenant = await (former?.tenant ?? this.tenant());
    try {
      const answer = await tenant.call(credential, name, request);
      if (former !== null) this.surprises.push(`an object that was replaced answers ${name}`);
      if (answer.ok) this.answered(name, request);
      return answer;
    } catch (error) {
      if (!(error instanceof SimulatedFault)) this.#surprise(name, error);
      return null;
    }
  }

  /** Runs everything that can run now, and restarts the object if that killed it. */
  async settle(): Promise<void> {
    for (let round = 0; ; round += 1) {
      await breathe();
      if (this.#handle.isDead && this.#tenant !== null) this.crash("deployed");
      for (const socket of this.sockets.takeClosed()) await this.#tellClosed(socket);
      if (!this.clock.runDue() && !this.sockets.all().some((socket) => !socket.isOpen)) return;
      if (round > MAX_ROUNDS) throw new Error("the object never comes to rest");
    }
  }

  async #tellClosed(socket: SimulatedSocket): Promise<void> {
    const tenant = await this.tenant();
    tenant.webSocketClose(socket as unknown as WebSocket).catch((error) => this.#surprise("webSocketClose", error));
  }

  /** Another object starts on the same storage, and the next calls still go to the one that is there. */
  async replace(misdirectedCount: number): Promise<void> {
    const tenant = await this.tenant();
    this.endFormer();
    this.#former = { tenant: Promise.resolve(tenant), sockets: this.sockets };
    this.misdirectedCount = misdirectedCount;
    this.#handle.isDead = true;
    this.isUnbroken = false;
    this.sockets = new SocketTable();
    this.receiver.open.clear();
    this.memory = null;
    this.#tenant = null;
    await this.tenant();
    const former = this.#former;
    this.clock.setTimeout(() => {
      if (this.#former === former) this.endFormer();
    }, FORMER_ENDS_AFTER_MS);
  }

  endFormer(): void {
    this.#former?.sockets.cutAll();
    this.#former = null;
    this.misdirectedCount = 0;
  }

  /** The object at the other end of a connection. */
  tenantAt(socket: SimulatedSocket): Promise<Tenant> {
    return this.#former?.sockets.has(socket) ? this.#former.tenant : this.tenant();
  }

  /** The object's memory, timers and promises are gone; its sockets survive sleep, but not a deploy. */
  crash(kind: "evicted" | "deployed"): void {
    this.endFormer();
    this.#handle.isDead = true;
    this.isUnbroken = false;
    this.#tenant = null;
    this.memory = null;
    this.clock.forgetTimers();
    this.receiver.open.clear();
    this.history.orphan();
    if (kind === "deployed") this.sockets.cutAll();
  }

  /** The next object starts on an empty disk: the tenant's next deployment. */
  moveOut(): void {
    this.crash("deployed");
    this.store = null;
    this.fill(0);
    this.#disk.close();
    this.#disk = new Disk();
  }

  /** Delivers the alarm if it is due; an alarm whose handler died comes again. */
  async fireAlarm(): Promise<boolean> {
    const at = this.disk.alarmAt;
    if (at === null || at > this.clock.nowAt || this.isAlarmHeld) return false;
    this.disk.alarmAt = null;
    this.alarmCount += 1;
    const tenant = await this.tenant();
    const handle = this.#handle;
    let isDone = false;
    tenant.alarm().then(
      () => {
        isDone = true;
      },
      (error) => this.#surprise("alarm", error),
    );
    await this.settle();
    if ((!isDone || handle.isDead) && this.disk.alarmAt === null) this.disk.alarmAt = at;
    return true;
  }

  /** The watchdog's call, or an alarm delivered twice; not awaited. */
  async nudge(): Promise<void> {
    const tenant = await this.tenant();
    tenant.alarm().catch((error) => this.#surprise("alarm", error));
  }

  /** Time passes; timers and alarms fire when due, and history answers as the weather says. */
  async advance(ms: number): Promise<void> {
    const untilAt = this.clock.nowAt + ms;
    for (let round = 0; ; round += 1) {
      if (round === MAX_ROUNDS) this.surprises.push(`more than ${MAX_ROUNDS} timers and alarms came within ${ms} ms`);
      if (round >= MAX_ROUNDS) break;
      this.history.answer();
      await this.settle();
      this.atRest();
      // History answers before the next alarm: a long outbox takes many batches.
      if (this.history.isBusy && this.history.weather === "fine") continue;
      const alarmAt = this.isAlarmHeld ? Number.POSITIVE_INFINITY : (this.disk.alarmAt ?? Number.POSITIVE_INFINITY);
      const nextAt = Math.max(this.clock.nowAt, Math.min(this.clock.nextTimerAt(), alarmAt));
      if (nextAt > untilAt) break;
      this.clock.nowAt = nextAt;
      if (!(await this.fireAlarm())) await this.settle();
      this.atRest();
    }
    this.clock.nowAt = Math.max(this.clock.nowAt, untilAt);
    await this.settle();
  }

  /** The platform reports another size of the storage. */
  fill(bytes: number): void {
    if (bytes === this.disk.bytes) return;
    this.disk.bytes = bytes;
    this.filledAt = this.clock.elapsedAt;
  }

  close(): void {
    this.disk.close();
    this.history.close();
  }

  /** A line of the object's log, or what it logged besides. */
  #logged([line, ...rest]: readonly unknown[]): void {
    const { event, error, level, what } = logLine(line);
    if (level === "warn" || SIMULATED.test(error)) {
      if (event === "turn.failed") this.brokenAt = Math.max(this.brokenAt, this.clock.nowAt);
      return;
    }
    this.surprises.push(`the object logged ${event} ${what}: ${error} ${rest.map(String).join(" ")}`);
  }

  #surprise(where: string, error: unknown): void {
    if (error instanceof SimulatedFault) return;
    this.surprises.push(`${where} threw: ${error instanceof Error ? error.stack : String(error)}`);
  }
}

interface LoggedLine {
  readonly level: string;
  readonly event: string;
  readonly what: string;
  readonly error: string;
}

const SIMULATED = /^SimulatedFault:/;

const logLine = (line: unknown): LoggedLine => {
  const unknown = { level: "error", event: String(line), what: "", error: "" };
  return typeof line === "string" && line.startsWith("{") ? { ...unknown, ...JSON.parse(line) } : unknown;
};
