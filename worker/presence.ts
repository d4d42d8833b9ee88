// The worker's report of itself, and when the coordinator is owed one. Each wakes it, so an idle worker on a socket only
// pings: it reports when it connects, when it dropped a job, until the last report is acknowledged, and once in a while.

import { MAX_MODELS_BYTES, utf8Bytes } from "../contract/field.ts";
import type { Tier } from "../contract/values.ts";
import type { RuntimeState } from "./runtimes/runtime.ts";
import type { WorkerMessage } from "./session.ts";

const MAX_MODEL_CHARS = 128;
const MAX_REASON_CHARS = 500;

export type WorkerIdentity = {
  instance: string;
  provider: string;
  /** Comma-separated. */
  tags: string;
  /** Empty: any. */
  models: readonly string[];
  tier: Tier | null;
  concurrency: number;
  version: string;
};

export type Load = { jobs: string[]; freeSlots: number; isDraining: boolean };

/** A worker on its way out offers no slot at all, so that it is chosen for nothing more. */
export function presenceMessage(
  id: string,
  identity: WorkerIdentity,
  load: Load,
  { unavailable, apis, models: listed }: RuntimeState,
): WorkerMessage {
  const { models, tier, concurrency, ...rest } = identity;
  return {
    type: "presence",
    id,
    ...rest,
    status: load.freeSlots === 0 ? "busy" : load.jobs.length === 0 ? "idle" : "online",
    concurrency: load.isDraining ? 0 : concurrency,
    ...(models.length === 0 ? {} : { models: [...models] }),
    ...(tier === null ? {} : { tier }),
    ...(apis.length === 0 ? {} : { apis: [...apis] }),
    ...(listed === null ? {} : { runtime_models: fitting(listed.filter(isName)) }),
    ...(unavailable === null ? {} : { unavailable: unavailable.replace(/\p{Cc}/gu, " ").slice(0, MAX_REASON_CHARS) }),
    jobs: load.jobs,
  };
}

/** As many of them as a report may hold. */
function fitting(models: readonly string[]): string[] {
  let bytes = 0;
  return models.filter((model) => {
    bytes += utf8Bytes(model);
    return bytes <= MAX_MODELS_BYTES;
  });
}

function isName(model: string): boolean {
  return model !== "" && model.length <= MAX_MODEL_CHARS && model.isWellFormed() && !/\p{Cc}/u.test(model);
}

/** However quiet it is, the two compare notes this often. */
export const PRESENCE_AT_LEAST_EVERY_MS = 600_000;
/** A fleet that connected in one moment does not report in one moment ever after: up to this share sooner. */
const SOONER_SHARE = 0.2;

export class PresenceDue {
  readonly #random: () => number;
  #lastId = "";
  /** The report whose acknowledgement settles what is owed; null while there is something that none has told yet. */
  #settlingId: string | null = null;
  #isOwed = true;
  #againAtMs = Number.NEGATIVE_INFINITY;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** The coordinator must hear of something that pings do not say. */
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
