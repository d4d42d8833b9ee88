// Sends what a stored turn produced: frames to workers, notifications to waiting requests and viewers, cuts to relays,
// closes of sockets, log lines, deliveries to webhooks. No failure here undoes the turn, and no turn waits for it.

import { isEdgeInstance } from "../../domain/fleet/worker.ts";
import { ok } from "../../domain/words/result.ts";
import { log } from "../../log/log.ts";
import { SERVICE, type TurnRunner } from "../calls/turn-runner.ts";
import type { FileObjects } from "../files/file-objects.ts";
import { learnEdge } from "../operations/fleet/edge-workers.ts";
import { noteSaid } from "../operations/halts/late-spending.ts";
import type { Relays } from "../relay/relays.ts";
import type { Live } from "../sockets/live.ts";
import type { Sockets } from "../sockets/sockets.ts";
import { settleDelivery } from "../steps/deliveries.ts";
import type { Outgoing } from "../turn/announcement.ts";
import type { Effects } from "../turn/effects.ts";
import type { Waiters } from "../waits/waiters.ts";
import { BatchCarrier } from "./batch-carrier.ts";
import { sendDelivery } from "./webhook-sender.ts";

interface SenderParts {
  readonly tenant: string;
  readonly sockets: Sockets;
  readonly waiters: Waiters;
  readonly live: Live;
  readonly relays: Relays;
  readonly files: FileObjects;
  readonly turns: TurnRunner;
  readonly waitUntil: (work: Promise<unknown>) => void;
  /** The fetch for deliveries, which decides which addresses may be reached. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Resolves when new lines of batches may become jobs. */
  readonly roomFor: (chars: number) => Promise<void>;
}

export class EffectSender {
  readonly #parts: SenderParts;
  /** The deliveries being tried, with their webhooks; memory that is built again counts them, too. */
  readonly deliveriesUnderWay = new Map<string, string>();

  readonly #batches: BatchCarrier;

  constructor(parts: SenderParts) {
    this.#parts = parts;
    this.#batches = new BatchCarrier(parts);
  }

  send(effects: Effects): void {
    const { tenant, sockets, waiters, live, relays, files, turns, waitUntil } = this.#parts;
    // First what holds for all: a worker that is told of a job while it believes itself halted may give it back.
    for (const { message, except } of effects.broadcast) {
      sockets.queueForAll(message, except);
      waiters.notifyAll("claim ");
    }
    for (const { instance, message } of effects.frames)
      if (!isEdgeInstance(instance)) sockets.queueFor(instance, message);
    const toRunners = effects.frames.filter(({ instance }) => isEdgeInstance(instance));
    if (toRunners.length > 0) this.#tellRunners(toRunners);
    for (const instance of effects.askedEdges) waitUntil(this.#askEdge(instance).catch(() => undefined));
    if (!waiters.isEmpty) this.#wake(effects);
    const told = relays.tell(effects, turns.loadedMemory);
    if (told !== null) waitUntil(told);
    if (effects.unmeasured.length > 0) waitUntil(this.#measure(effects));
    if (effects.droppedFiles.length + effects.droppedViews.length > 0)
      waitUntil(files.drop(effects.droppedFiles, effects.droppedViews));
    for (const id of effects.batches) waitUntil(this.#batches.carry(id));
    for (const [keyId, liveHashes] of effects.endedKeys) sockets.endKey(keyId, liveHashes);
    for (const id of effects.endedSessions) sockets.endSession(id);
    for (const worker of effects.handedOver) sockets.endOthers(worker);
    for (const { level, event, fields } of effects.log) log(level, event, { tenant, ...fields });
    for (const delivery of effects.deliveries) waitUntil(this.#deliver(delivery));
    live.note(effects);
  }

  #tellRunners(frames: Effects["frames"]): void {
    const { relays, waitUntil } = this.#parts;
    for (const [instance, ofOne] of Map.groupBy(frames, (frame) => frame.instance)) {
      const messages = ofOne.map(({ message }) => message);
      // What does not arrive is noticed as with any worker: the job is not started in time.
      waitUntil(relays.tellRunner(instance, messages).catch(() => undefined));
    }
  }

  #wake({ wokenWorkers, changedJobs, finishedJobs, endedKeys, endedSessions }: Effects): void {
    const { waiters } = this.#parts;
    for (const instance of wokenWorkers) waiters.notify(`claim ${instance}`);
    for (const id of changedJobs) waiters.notify(`watch ${id}`);
    for (const id of finishedJobs) waiters.notify(`job ${id}`);
    // A reader does not outlive the key or the session that it came with.
    if (endedKeys.size + endedSessions.size > 0) for (const kind of ["job ", "watch "]) waiters.notifyAll(kind);
  }

  async #measure({ unmeasured }: Effects): Promise<void> {
    const { relays, turns } = this.#parts;
    const said = await relays.measure(unmeasured);
    if (said.length > 0) await turns.decide(SERVICE, (turn) => ok(noteSaid(turn, said))).catch(() => undefined);
  }

  async #askEdge(instance: string): Promise<void> {
    const { relays, turns } = this.#parts;
    const state = await relays.askRunner(instance);
    await turns.decide(SERVICE, (turn) => ok(learnEdge(turn, instance, state)));
  }

  #deliver(delivery: Outgoing): Promise<void> {
    const { fetch, turns } = this.#parts;
    this.deliveriesUnderWay.set(delivery.id, delivery.webhookId);
    const settle: Parameters<typeof sendDelivery>[0]["settle"] = async (id, outcome) => {
      this.deliveriesUnderWay.delete(id);
      await turns.decide(SERVICE, (turn) => ok(settleDelivery(turn, id, outcome)));
    };
    return sendDelivery({ fetch, now: Date.now, settle }, delivery);
  }
}
