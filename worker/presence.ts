// The worker's presence report, and when the next one is due. Each report wakes the tenant's object, so an idle worker
// with a socket only pings. It reports when it connects, when it dropped a job, until the last report is acknowledged,
// and every ten minutes.

import type { MachineResource } from "../contract/fleet/machine.ts";
import { lineOf } from "../contract/text/start-of.ts";
import { modelName } from "../contract/words/field.ts";
import { MAX_RUNTIME_MODELS, type Tier } from "../contract/words/values.ts";
import type { RuntimeState } from "./calls/runtime.ts";
import type { WorkerMessage } from "./session/session.ts";

const MAX_REASON_CHARS = 500;

export type WorkerIdentity = {
  instance: string;
  provider: string;
  /** Comma-separated. */
  tags: string;
  /** Empty: any model. */
  models: readonly string[];
  tier: Tier | null;
  concurrency: number;
  version: string;
};

type Load = { jobs: string[]; freeSlots: number; isDraining: boolean };

/** A worker that shuts down offers no slot, so that it gets no more jobs. */
export const presenceMessage = (
  id: string,
  identity: WorkerIdentity,
  load: Load,
  { unavailable, apis, models: listed }: RuntimeState,
  machine: Partial<MachineResource> = {},
): WorkerMessage => {
  const { models, tier, concurrency, ...rest } = identity;
  return {
    type: "presence",
    id,
    ...rest,
    status: load.jobs.length === 0 ? "idle" : "online",
    concurrency: load.isDraining ? 0 : concurrency,
    ...(models.length === 0 ? {} : { models: [...models] }),
    ...(tier === null ? {} : { tier }),
    ...(apis.length === 0 ? {} : { apis: [...apis] }),
    ...(listed === null
      ? {}
      : { runtime_models: listed.filter((model) => modelName.safeParse(model).success).slice(0, MAX_RUNTIME_MODELS) }),
    ...(unavailable === null ? {} : { unavailable: lineOf(unavailable, MAX_REASON_CHARS) }),
    ...Object.fromEntries(Object.entries(machine).filter(([, told]) => told !== null)),
    jobs: load.jobs,
  };
};

/** Longest time between two full reports. */
export const PRESENCE_AT_LEAST_EVERY_MS = 600_000;
/**
 * Reports come earlier by a random share up to this, so that workers that connected together do not report together.
 */
const SOONER_SHARE = 0.2;

export class PresenceDue {
  readonly #random: () => number;
  #lastId = "";
  /** The report whose acknowledgement covers all news; null while some news is unsent. */
  #settlingId: string | null = null;
  #isOwed = true;
  #againAtMs = Number.NEGATIVE_INFINITY;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** There is news that a ping does not carry. */
  owe(): void {
    this.#isOwed = true;
    this.#settlingId = null;
  }

  sent(id: string, nowMs: number): void {
    this.#lastId = id;
    this.#settlingId = id;
    this.#isOwed = true;
    this.#againAtMs = nowMs + PRESENCE_AT_LEAST_EVERY_MS * (1 - SOONER_SHARE * this.#random());
  }

  isLast(id: string): boolean {
    return id === this.#lastId;
  }

  acknowledged(id: string): void {
    if (id === this.#settlingId) this.#isOwed = false;
  }

  isDue(nowMs: number): boolean {
    return this.#isOwed || nowMs >= this.#againAtMs;
  }
}
