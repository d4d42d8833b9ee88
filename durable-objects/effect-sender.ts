// Sends what a stored turn produced: frames to workers, notifications to waiting requests and viewers, cuts to relays,
// closes of sockets, log lines, deliveries to webhooks. No failure here undoes the turn, and no turn waits for it.

import { log } from "../contract/log.ts";
import { ok } from "../domain/result.ts";
import type { FileObjects } from "./files/file-objects.ts";
import type { Live } from "./live.ts";
import type { Outgoing } from "./operations/announcement.ts";
import { settleDelivery } from "./operations/deliveries.ts";
import type { Effects } from "./operations/effects.ts";
import type { Relays } from "./relays.ts";
import type { Sockets } from "./sockets.ts";
import { SERVICE, type TurnRunner } from "./turn-runner.ts";
import type { Waiters } from "./waiters.ts";
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
}

export class EffectSender {
  readonly #parts: SenderParts;
  /** The deliveries being tried, with their webhooks; memory that is built again counts them, too. */
  readonly deliveriesUnderWay = new Map<string, string>();

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  send(effects: Effects): void {
    const { tenant, sockets, waiters, live, relays, files, turns, waitUntil } = this.#parts;
    for (const { instance, message } of effects.frames) sockets.queueFor(instance, message);
    for (const instance of effects.wokenWorkers) waiters.notify(`claim ${instance}`);
    for (const { message, except } of effects.broadcast) {
      sockets.queueForAll(message, except);
      waiters.notifyAll("claim ");
    }
    for (const id of effects.changedJobs) waiters.notify(`watch ${id}`);
    for (const id of effects.finishedJobs) waiters.notify(`job ${id}`);
    const told = relays.tell(effects, turns.loadedMemory);
    if (told !== null) waitUntil(told);
    if (effects.droppedFiles.length > 0) waitUntil(files.drop(effects.droppedFiles));
    for (const [keyId, liveHashes] of effects.endedKeys) sockets.endKey(keyId, liveHashes);
    for (const id of effects.endedSessions) sockets.endSession(id);
    for (const instance of effects.forgottenWorkers) sockets.endWorker(instance);
    for (const { level, event, fields } of effects.log) log(level, event, { tenant, ...fields });
    for (const delivery of effects.deliveries) waitUntil(this.#deliver(delivery));
    live.note(effects);
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
