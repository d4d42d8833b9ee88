// What a scan of all workers reads, in flat arrays by slot: ten thousand objects would be as many cache misses. An
// index like the sets, kept by the fleet; an explanation reads the workers themselves.

import type { Tier } from "../words/requirements.ts";
import { type ModelSet, modelsTaken } from "./model-set.ts";
import { Numbering } from "./numbering.ts";
import type { Worker } from "./worker.ts";

const FIRST_LENGTH = 64;

/** The part of a worker's offer that its score depends on. */
export interface ScoredOffer {
  readonly provider: string;
  readonly tagCount: number;
  /** It or its runtime says which models it has. */
  readonly namesModels: boolean;
  /** The models in its memory; null if it does not say. */
  readonly loaded: ModelSet | null;
  readonly tier: Tier | null;
}

export const scoredOfferOf = (worker: Worker): ScoredOffer => ({
  provider: worker.provider,
  tagCount: worker.tags.length,
  namesModels: modelsTaken(worker) !== null,
  loaded: worker.machine?.loaded ?? null,
  tier: worker.tier,
});

export class Columns {
  /** Load divided by concurrency, in [0, 1]. */
  usedShare = new Float64Array(FIRST_LENGTH);
  successRate = new Float64Array(FIRST_LENGTH);
  /** Last sign of life, epoch ms; infinity while the worker can be reached at once. */
  seenAt = new Float64Array(FIRST_LENGTH);
  /** When it was last given a job: a number that grows with each assignment in the fleet. */
  lastTurn = new Float64Array(FIRST_LENGTH);
  /** Index into `offers`. */
  offer = new Uint32Array(FIRST_LENGTH);
  /** The distinct offers; unused indexes are reused. */
  readonly offers: ScoredOffer[] = [];
  readonly #places = new Numbering();

  setOffer(slot: number, worker: Worker): void {
    this.#reach(slot);
    const offer = scoredOfferOf(worker);
    const place = this.#places.take(nameOf(offer));
    this.offers[place] = offer;
    this.offer[slot] = place;
  }

  /** Removes the slot's offer. */
  dropOffer(slot: number): void {
    this.#places.giveBack(this.offer[slot] as number);
  }

  #reach(slot: number): void {
    if (slot < this.offer.length) return;
    const length = Math.max(slot + 1, this.offer.length * 2);
    this.usedShare = widened(this.usedShare, new Float64Array(length));
    this.successRate = widened(this.successRate, new Float64Array(length));
    this.seenAt = widened(this.seenAt, new Float64Array(length));
    this.lastTurn = widened(this.lastTurn, new Float64Array(length));
    this.offer = widened(this.offer, new Uint32Array(length));
  }
}

const nameOf = ({ loaded, ...offer }: ScoredOffer): string => JSON.stringify([offer, loaded?.id]);

const widened = <Column extends Float64Array | Uint32Array>(from: Column, to: Column): Column => {
  to.set(from);
  return to;
};
