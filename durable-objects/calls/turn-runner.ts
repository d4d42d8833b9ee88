// Runs the tenant's turns: each reads and writes rows and the memory built from them, several share one commit, and
// their effects are sent after it. A commit that is rolled back leaves nothing behind, not even in memory.

import { isCutOff } from "../../domain/fleet/fleet.ts";
import { absenceRefusal } from "../../domain/tenant/absence.ts";
import { SERVICE_ACTOR } from "../../domain/words/event.ts";
import { shapeKeeper } from "../../domain/words/kept-shape.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { err, type Result } from "../../domain/words/result.ts";
import { log } from "../../log/log.ts";
import { assignWaiting } from "../placing/assign-waiting.ts";
import { writeDeliveries } from "../steps/deliveries.ts";
import { heedSetBack } from "../steps/set-back-clock.ts";
import type { Store } from "../store/open.ts";
import { DRAIN_DELAY_MS } from "../store/outbox.ts";
import type { StoredConfig } from "../store/settings.ts";
import type { TenantStorage } from "../store/sql.ts";
import { nextWakeAt } from "../sweep/sweep.ts";
import type { Effects } from "../turn/effects.ts";
import { idSource } from "../turn/ids.ts";
import { type Counters, countersFrom } from "../turn/memory/counters.ts";
import { loadMemory, type Memory } from "../turn/memory/memory.ts";
import type { StorageBounds } from "../turn/memory/storage-memory.ts";
import { OutboxWriter } from "../turn/outbox-writer.ts";
import { type Caller, Turn, type TurnContext } from "../turn/turn.ts";
import { TurnQueue } from "../turn/turns.ts";
import type { Wake } from "../turn/wake.ts";

/** The caller of turns without a request: the alarm, a relay, the catalog's sync. */
export const SERVICE: Caller = { ...SERVICE_ACTOR, role: "admin" };
/** The caller of what the edge asks with the root key. */
export const OPERATOR: Caller = { keyId: null, name: "operator", role: "admin" };

/** Ended jobs that history has are answered from memory this long, and FINAL_GRACE_MS before it, at most. */
const FORGET_EVERY_MS = 60_000;

interface RunnerTools {
  readonly tenant: string;
  readonly storage: TenantStorage;
  readonly store: Store;
  readonly wake: Wake;
  /** The config of a tenant that has none of its own. */
  readonly defaults: StoredConfig["document"];
  readonly bounds?: StorageBounds;
  readonly sockets: {
    readonly connectedInstances: () => Iterable<string>;
    /** When the worker's socket last gave a sign of life; null if it has none. */
    readonly lastSignOf: (instance: string, keyId?: string | null) => number | null;
    /** Sends the frames that wait. */
    readonly flush: () => void;
  };
  readonly signLink: TurnContext["signLink"];
  readonly publicOrigin?: TurnContext["publicOrigin"];
}

/** Parts that run turns themselves, so that they are made after the runner; before its first turn it is given them. */
interface LaterParts {
  /** Workers with a claim that waits. */
  readonly claims: { readonly instances: () => Iterable<string> };
  readonly history: {
    /** When the outbox must be looked at next. */
    readonly dueAt: () => number | null;
  };
  readonly sender: {
    /** Those being tried now, with their webhooks. */
    readonly deliveriesUnderWay: Iterable<readonly [string, string]>;
    /** Sends a turn's effects after its commit. */
    readonly send: (effects: Effects) => void;
  };
}

export class TurnRunner {
  readonly #tools: RunnerTools;
  #later!: LaterParts;
  readonly #turns: TurnQueue;
  readonly #nextId = idSource((count) => crypto.getRandomValues(new Uint8Array(count)));
  readonly #keepShape = shapeKeeper<Turn>();
  #memory: Memory | null = null;
  /** The clock at the last turn of this memory; the rows that it was built from may be later. */
  #turnedAt = Number.POSITIVE_INFINITY;
  /** When ended jobs were forgotten last, which nothing wakes a tenant for. */
  #forgotAt = 0;
  #counters: Counters | null = null;
  /** Counted separately: a failed sweep is undone, but has still failed. */
  readonly #sweepFailures = new Map<string, number>();
  /** What the turns of this commit send to history together. */
  #outbox: OutboxWriter | null = null;
  /** What they leave to do after the commit, in order. */
  #afterwards: (() => void)[] = [];

  constructor(tools: RunnerTools) {
    this.#tools = tools;
    this.#turns = new TurnQueue(tools.storage, {
      close: () => this.#storeOutbox(),
      tell: () => this.#tellAll(),
      undo: (error) => this.#undo(error),
    });
  }

  attach(later: LaterParts): void {
    this.#later = later;
  }

  /** The state to decide on, built from the rows if necessary. */
  get memory(): Memory {
    return this.#memory ?? this.#load();
  }

  /** The same, but null if it would have to be built. */
  get loadedMemory(): Memory | null {
    return this.#memory;
  }

  /** Runs `work`, which must be synchronous, within the next commit. */
  run<T>(work: () => T, isVital = false, size = 1): Promise<T> {
    return this.#turns.run(work, isVital, size);
  }

  /** Runs `begin`: the turns that it queues share a commit. */
  together<T>(begin: () => T): T {
    return this.#turns.together(begin);
  }

  /** Runs an operation as a turn of its own. */
  decide<T>(caller: Caller, verb: (turn: Turn) => Result<T, Refusal>): Promise<Result<T, Refusal>> {
    return this.run(() => this.inTurn(caller, verb));
  }

  /** Reads the state between two turns. */
  read<T>(look: (turn: Turn) => T): Promise<T> {
    return this.run(() => {
      const turn = this.#beginTurn(SERVICE);
      const seen = look(turn);
      this.#concludeRead(turn);
      return seen;
    });
  }

  /** A step of the tenant's own move (`moves/moving.ts`): the only turns of a tenant that is not served here. */
  relocate<T>(caller: Caller, verb: (turn: Turn) => Result<T, Refusal>): Promise<Result<T, Refusal>> {
    return this.run(() => this.#turn(caller, verb));
  }

  /**
   * One turn: the operation, then the queue; its effects wait for the commit. Only within `run`. Refused for a tenant
   * that is not served here, no matter who calls: the outcome of a delivery and the end of a socket come late, and would
   * change rows that are being copied.
   */
  inTurn<T>(caller: Caller, verb: (turn: Turn) => Result<T, Refusal>): Result<T, Refusal> {
    const away = absenceRefusal(this.memory.absence);
    return away === null ? this.#turn(caller, verb) : err(away);
  }

  #turn<T>(caller: Caller, verb: (turn: Turn) => Result<T, Refusal>): Result<T, Refusal> {
    const turn = this.#beginTurn(caller);
    const result = verb(turn);
    if (result.ok || turn.hasSpent) this.#conclude(turn);
    else this.#concludeRead(turn);
    return result;
  }

  /** A refusal or a read writes nothing, but it may have noticed a worker that is back: waiting jobs may be for it. */
  #concludeRead(turn: Turn): void {
    if (turn.freedWorkers.size > 0) this.#conclude(turn);
  }

  #conclude(turn: Turn): void {
    assignWaiting(turn);
    writeDeliveries(turn);
    this.#tools.wake.note(turn.wakeAt);
    this.afterCommit(() => this.#later.sender.send(turn.effects));
  }

  #beginTurn(caller: Caller): Turn {
    const turn = this.newTurn(caller);
    if (turn.nowAt < this.#turnedAt && turn.memory.absence === null) {
      heedSetBack(turn);
      this.#tools.wake.note(turn.wakeAt);
    }
    this.#turnedAt = turn.nowAt;
    if (Math.abs(turn.nowAt - this.#forgotAt) >= FORGET_EVERY_MS) {
      this.#tools.store.jobs.forgetEnded(turn.nowAt);
      this.#forgotAt = turn.nowAt;
    }
    return turn;
  }

  newTurn(caller: Caller): Turn {
    const nowAt = Date.now();
    const { memory } = this;
    const context = {
      nowAt,
      random: Math.random,
      newId: () => this.#nextId(nowAt),
      signLink: this.#tools.signLink,
      publicOrigin: this.#tools.publicOrigin,
      lastSocketSign: (instance: string, keyId?: string | null) =>
        this.#tools.sockets.lastSignOf(instance, keyId) ?? (memory.sockets.opening.has(instance) ? nowAt : null),
    };
    this.#outbox ??= new OutboxWriter(memory);
    return this.#keepShape(new Turn(this.#tools.store, memory, this.#outbox, context, caller));
  }

  /** Called after the current turn is stored. Only within `run`. */
  afterCommit(effect: () => void): void {
    this.#afterwards.push(effect);
  }

  /** A row of the timetable failed. */
  countSweepFailure(what: string): void {
    this.#sweepFailures.set(what, (this.#sweepFailures.get(what) ?? 0) + 1);
  }

  /** Builds the memory again. Nothing was undone, so what was counted stays counted. */
  rebuild(): void {
    const counters = this.#counters;
    this.forget();
    this.#counters = counters;
  }

  /** The tenant's rows are gone. */
  forget(): void {
    this.#undo(null);
  }

  #load(): Memory {
    const { store, sockets, wake, defaults, bounds } = this.#tools;
    const { claims, history, sender } = this.#later;
    this.#counters ??= { ...countersFrom(store.settings.counters()), sweepFailures: this.#sweepFailures };
    const memory = loadMemory(store, Date.now(), this.#counters, defaults, bounds);
    for (const instance of sockets.connectedInstances()) memory.fleet.noteReach(instance, { isConnected: true });
    for (const member of memory.fleet.members()) {
      if (member.load > 0 && isCutOff(member)) memory.sockets.goneAt.set(member.worker.instance, Date.now());
    }
    for (const instance of claims.instances()) memory.fleet.noteReach(instance, { isClaiming: true });
    for (const [id, webhookId] of sender.deliveriesUnderWay) memory.deliveries.underWay.set(id, webhookId);
    this.#memory = memory;
    wake.restore(nextWakeAt(this.newTurn(SERVICE)));
    wake.restore(history.dueAt());
    return memory;
  }

  #storeOutbox(): void {
    for (const row of this.#outbox?.rows ?? []) {
      this.#tools.store.outbox.put(row);
      this.#tools.wake.note(row.at + DRAIN_DELAY_MS);
    }
    this.#outbox = null;
    const { jobs } = this.#tools.store;
    if (jobs.isCrowded()) this.#tools.wake.note(this.#later.history.dueAt());
    if (jobs.makeRoom()) this.#tools.wake.note(jobs.nextDueAt());
  }

  #tellAll(): void {
    const { sockets, wake } = this.#tools;
    for (const effect of [...this.#afterwards.splice(0), () => sockets.flush(), () => wake.armNoted()]) {
      try {
        effect();
      } catch (error) {
        // A socket that the platform refuses must not keep the other effects from being sent.
        log("error", "effect.failed", { tenant: this.#tools.tenant }, error);
      }
    }
  }

  /** Rows are rolled back, so the memory built from them must go, too. */
  #undo(error: unknown): void {
    this.#memory = null;
    this.#turnedAt = Number.POSITIVE_INFINITY;
    // The commit's counts did not happen: counting continues from what the last drain stored, as after a crash.
    this.#counters = null;
    this.#tools.store.forgetRecent();
    this.#outbox = null;
    this.#afterwards = [];
    if (error !== null) log("error", "turn.failed", { tenant: this.#tools.tenant }, error);
  }
}
