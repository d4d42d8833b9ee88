// Which workers offer what: the sets that a job's requirements are looked up in. Lists that many workers have in common
// are kept once; what a worker was placed with must be taken out with the same lists.

import type { Api } from "../words/api.ts";
import { modelKeyOf } from "../words/model-key.ts";
import type { Requirements } from "../words/requirements.ts";
import { Bits, type ReadonlyBits } from "./bits.ts";
import { modelsTaken } from "./model-set.ts";
import { ModelSets } from "./model-sets.ts";
import { Postings } from "./postings.ts";
import { SharedLists } from "./shared-lists.ts";
import { offerBytesOf, type Worker } from "./worker.ts";

/** What others may ask of it. */
export type Offers = Omit<OfferIndex, "place" | "sharing" | "giveBack">;

export class OfferIndex {
  readonly #registered = new Bits();
  readonly #edge = new Bits();
  readonly #byProvider = new Postings();
  readonly #byTag = new Postings();
  readonly #byApi = new Postings();
  readonly #models = new ModelSets();
  readonly #runtimeModels = new ModelSets();
  readonly #anyModel = new Bits();
  /** By model, the workers whose runtime answered that it does not have it. */
  readonly #missing = new Postings();
  /** Lists of tags and APIs. */
  readonly #lists = new SharedLists();
  #bytes = 0;

  /** What the models and tags of all workers count together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** All workers. */
  get registered(): ReadonlyBits {
    return this.#registered;
  }

  /** The coordinator's own. */
  get edge(): ReadonlyBits {
    return this.#edge;
  }

  providers(): IterableIterator<string> {
    return this.#byProvider.values();
  }

  ofProvider(provider: string): ReadonlyBits | undefined {
    return this.#byProvider.with(provider);
  }

  othersThan(provider: string): Bits {
    return this.#registered.copy().subtract(this.ofProvider(provider));
  }

  withTag(tag: string): ReadonlyBits | undefined {
    return this.#byTag.with(tag);
  }

  answering(api: Api): ReadonlyBits | undefined {
    return this.#byApi.with(api);
  }

  /** Workers that name the model, or whose runtime lists it, or of which neither is known. */
  servingModel(model: string): Bits {
    return this.#anyModel.copy().union(this.#models.with(model));
  }

  /** Workers whose runtime answered that it does not have the model, at some time. */
  missing(model: string): ReadonlyBits | undefined {
    return this.#missing.with(modelKeyOf(model));
  }

  /** Workers that offer everything required, whatever their state. */
  allOf(asked: Requirements): Bits {
    const bits = this.#registered.copy();
    if (asked.provider !== null) bits.intersect(this.ofProvider(asked.provider));
    for (const tag of asked.tags) bits.intersect(this.withTag(tag));
    if (asked.api !== null) bits.intersect(this.answering(asked.api));
    if (asked.model !== null) bits.intersect(this.servingModel(asked.model));
    for (const provider of asked.excludedProviders) bits.subtract(this.ofProvider(provider));
    return bits;
  }

  place(worker: Worker, slot: number, isPresent: boolean): void {
    this.#registered.set(slot, isPresent);
    this.#edge.set(slot, isPresent && worker.isEdge);
    this.#byProvider.place(worker.provider, slot, isPresent);
    for (const tag of worker.tags) this.#byTag.place(tag, slot, isPresent);
    for (const api of worker.apis) this.#byApi.place(api, slot, isPresent);
    const taken = modelsTaken(worker);
    if (taken === null) this.#anyModel.set(slot, isPresent);
    else this.#models.place(taken, slot, isPresent);
    if (worker.runtimeModels !== null) this.#runtimeModels.place(worker.runtimeModels, slot, isPresent);
    for (const { key } of worker.missingModels) this.#missing.place(key, slot, isPresent);
    this.#bytes += isPresent ? offerBytesOf(worker) : -offerBytesOf(worker);
  }

  /** Replaces the worker's lists by shared ones, and gives back those of the previous record that differ. */
  sharing(worker: Worker, before: Worker | undefined): Worker {
    if (before !== undefined && isSameIndexing(before, worker)) return worker;
    const tags = this.#lists.take(worker.tags);
    const apis = this.#lists.take(worker.apis);
    const models = worker.models === null ? null : this.#models.shared(worker.models);
    const runtimeModels = worker.runtimeModels === null ? null : this.#runtimeModels.shared(worker.runtimeModels);
    if (before !== undefined) this.giveBack(before);
    return { ...worker, tags, models, runtimeModels, apis };
  }

  giveBack({ tags, apis }: Worker): void {
    this.#lists.giveBack(tags);
    this.#lists.giveBack(apis);
  }
}

/** Both records have the same place in every index of the offer, that of the score included. */
export const isSameIndexing = (before: Worker, after: Worker): boolean =>
  before.provider === after.provider &&
  before.tags === after.tags &&
  before.models === after.models &&
  before.runtimeModels === after.runtimeModels &&
  before.missingModels === after.missingModels &&
  before.apis === after.apis &&
  before.machine?.bytes === after.machine?.bytes &&
  before.machine?.loaded?.id === after.machine?.loaded?.id &&
  before.tier === after.tier;
