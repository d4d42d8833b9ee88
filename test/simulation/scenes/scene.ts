// A sentence about the object, and what shows it: calls one after the other, without a fault, with a clock that only the
// scene moves. So it can show what holds until an exact instant.

import { readStoredEvents } from "../../../domain/job/stored-timeline.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import type { Result } from "../../../domain/words/result.ts";
import type { AnswerOf, OperationName, RequestOf } from "../../../durable-objects/api.ts";
import type { Credential } from "../../../durable-objects/steps/holders.ts";
import { DRAIN_DELAY_MS } from "../../../durable-objects/store/outbox.ts";
import type { Tenant } from "../../../durable-objects/tenant.ts";
import { watch } from "../actors/viewers.ts";
import { connect, say } from "../actors/workers.ts";
import { TENANT } from "../platform/shell.ts";
import { World } from "../world.ts";

export interface Shown {
  readonly what: string;
  readonly shown: (scene: Scene) => Promise<void>;
}

/** A tenant whose every call ends before the next, without a fault. */
export class Scene {
  readonly #world = new World(1);

  static async of(shown: Shown["shown"]): Promise<void> {
    const scene = new Scene();
    try {
      await scene.#world.begin();
      await shown(scene);
      const [surprise] = scene.#world.shell.surprises;
      if (surprise !== undefined) throw new Error(surprise);
    } finally {
      scene.#world.shell.close();
    }
  }

  readonly admin = this.#world.admin;

  get nowAt(): number {
    return this.#world.shell.clock.nowAt;
  }

  get alarmCount(): number {
    return this.#world.shell.alarmCount;
  }

  /** No timer is under way, so the object may sleep. */
  get isAtRest(): boolean {
    return this.#world.shell.clock.nextTimerAt() === Number.POSITIVE_INFINITY;
  }

  /** Time passes; what is due meanwhile is done. */
  pass(ms: number): Promise<void> {
    return this.#world.shell.advance(ms);
  }

  /** Time passes until history has what was done. */
  reachHistory(): Promise<void> {
    return this.pass(DRAIN_DELAY_MS);
  }

  setClockBack(ms: number): void {
    this.#world.shell.clock.setBack(ms);
  }

  /** The object is unloaded: what it did not store is forgotten. */
  sleep(): void {
    this.#world.shell.crash("evicted");
  }

  /** The object is replaced: its connections are cut, too. */
  deploy(): void {
    this.#world.shell.crash("deployed");
  }

  async ask<Name extends OperationName>(
    credential: Credential,
    name: Name,
    request: RequestOf<Name>,
  ): Promise<Result<AnswerOf<Name>, Refusal>> {
    const asking = this.#world.shell.call(credential, name, request);
    await this.#world.shell.settle();
    const answer = await asking;
    if (answer === null) throw new Error(`${name} was not answered`);
    return answer;
  }

  /** The answer to a request that must succeed. */
  async done<Name extends OperationName>(
    credential: Credential,
    name: Name,
    request: RequestOf<Name>,
  ): Promise<AnswerOf<Name>> {
    const answer = await this.ask(credential, name, request);
    if (!answer.ok) throw new Error(`${name} was refused: ${JSON.stringify(answer.error)}`);
    return answer.value;
  }

  /** Connects `worker-0` by a socket; what it is told comes into the list. */
  async connect(): Promise<readonly string[]> {
    const [worker] = this.#world.workers;
    if (worker === undefined) throw new Error("no worker");
    const connecting = connect(this.#world, worker, [0, 0, 0, 0, 0]);
    await this.#world.shell.settle();
    await connecting;
    return worker.socket?.inbox ?? [];
  }

  /** A message of `worker-0` on its socket. */
  async say(message: Record<string, unknown>): Promise<void> {
    const [worker] = this.#world.workers;
    if (worker === undefined) throw new Error("no worker");
    const saying = say(this.#world, worker, message);
    await this.#world.shell.settle();
    await saying;
  }

  /** A ping of `worker-0`, which the platform answers. */
  ping(): void {
    const socket = this.#world.workers[0]?.socket;
    if (socket != null) socket.pingedAt = this.nowAt;
  }

  /** The socket of `worker-0` is gone. */
  async disconnect(): Promise<void> {
    this.#world.workers[0]?.socket?.close();
    await this.#world.shell.settle();
  }

  /** Opens the live view; what it is told comes into the list, frame by frame. */
  async watch(): Promise<string[]> {
    const watching = watch(this.#world);
    await this.#world.shell.settle();
    await watching;
    return this.#world.viewers.at(-1)?.socket.inbox ?? [];
  }

  /** A call that is no operation: of a relay, or of the operator's command. */
  async tell<Answer>(call: (tenant: Tenant) => Promise<Answer>): Promise<Answer> {
    const calling = call(await this.#world.shell.tenant());
    await this.pass(0);
    return calling;
  }

  /** The objects that call providers for the tenant. */
  get runners() {
    return this.#world.shell.runners;
  }

  /** What one of them reports; whether it was taken. */
  runnerSays(instance: string, report: Record<string, unknown>, refusal: string | null = null): Promise<boolean> {
    return this.tell((tenant) => tenant.hearRunner(instance, { id: "r", ...report } as never, refusal));
  }

  /** The objects of its files. */
  get files() {
    return this.#world.shell.files;
  }

  /** The receiver of webhooks. */
  get receiver() {
    return this.#world.shell.receiver;
  }

  /** A request of which every turn fails at its first statement. */
  async fail<Name extends OperationName>(name: Name, request: RequestOf<Name>): Promise<void> {
    const { handle } = this.#world.shell;
    handle.failAfter(1, "throw");
    const asking = this.#world.shell.call(this.admin, name, request);
    await this.#world.shell.settle();
    handle.heal();
    if ((await asking) !== null) throw new Error(`${name} was answered`);
  }

  /** A job as history has it. */
  archived(id: string) {
    const archived = this.#world.archived(id);
    if (archived === null) throw new Error(`history has no job ${id}`);
    return archived;
  }

  /** The details of what was audited under a name, once history has it. */
  audited(action: string): Record<string, unknown>[] {
    const rows = this.archivedRows("SELECT detail FROM audit WHERE tenant = ? AND action = ?", TENANT, action);
    return rows.map(({ detail }) => JSON.parse(detail as string));
  }

  archivedEvents(id: string) {
    const [row] = this.archivedRows("SELECT events FROM jobs WHERE id = ?", id);
    return readStoredEvents(row?.events as string);
  }

  archivedRows(query: string, ...values: (string | number)[]) {
    return this.#world.shell.history.rows(query, ...values);
  }

  /** The platform delays the alarm; nothing that is due is done. */
  holdAlarm(isHeld: boolean): void {
    this.#world.shell.isAlarmHeld = isHeld;
  }

  rows(query: string, ...values: (string | number)[]) {
    return this.#world.shell.disk.rows(query, ...values);
  }
}
