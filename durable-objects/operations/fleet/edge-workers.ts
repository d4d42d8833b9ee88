// The coordinator's own workers: one for each 32 places of a provider that the config lets it call itself. They follow
// the config and the catalog, and are never silent. Whether a provider can be called is known where its key is: it is
// asked, and a refused key makes them unavailable, in the provider's words.

import { mayUseModel } from "../../../domain/access/key-limits.ts";
import type { EdgeConfig } from "../../../domain/config.ts";
import type { Member } from "../../../domain/fleet/fleet.ts";
import { UNKNOWN_MACHINE } from "../../../domain/fleet/machine.ts";
import { EDGE_PLACES, edgeInstance, registerWorker, type Worker } from "../../../domain/fleet/worker.ts";
import { epochOfNewWorker, isHaltedBy } from "../../../domain/killswitch.ts";
import type { Api } from "../../../domain/words/api.ts";
import { MINUTE_MS } from "../../../domain/words/duration.ts";
import { earliest } from "../../../domain/words/earliest.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import type { Result } from "../../../domain/words/result.ts";
import { applyCatalog, type CatalogReport } from "../../steps/catalog.ts";
import { recordLost } from "../../steps/lost-jobs.ts";
import type { Turn } from "../../turn/turn.ts";
import { MAX_OFFER_BYTES } from "./presence.ts";
import { forget } from "./workers.ts";

/** Whether a provider can be called, as far as that is known without calling it. */
export interface EdgeState {
  readonly apis: readonly Api[];
  /** null: its key is there. */
  readonly unavailable: string | null;
}

const NOT_ASKED = "its key has not been looked up yet";
/** A question without an answer is asked again. */
const ASK_AGAIN_MS = MINUTE_MS;
/** A provider that refused its key gets a job again, unless its key or the config changes before. */
const TRY_AGAIN_MS = 5 * MINUTE_MS;

/** Makes the workers as the config and the catalog say, and asks for the keys: what is known of them may be old. */
export const arrangeEdge = (turn: Turn): void => {
  const { config } = turn.memory;
  const kept = new Set<string>();
  for (const [provider, { edge }] of config.providers) {
    if (edge === null) continue;
    const models = modelsOf(turn, provider, edge);
    for (let number = 0; number * EDGE_PLACES < edge.maxConcurrent; number += 1) {
      const instance = edgeInstance(provider, number);
      kept.add(instance);
      arrangeOne(turn, { instance, provider, edge, models, number });
    }
    askEdge(turn, provider);
  }
  for (const member of edgeMembers(turn)) {
    const { instance, provider } = member.worker;
    if (kept.has(instance)) continue;
    if (config.providers.get(provider)?.edge == null) {
      stopWork(turn, instance);
      turn.memory.edge.askAt.delete(provider);
    }
    if (member.load === 0) forget(turn, member);
    else turn.putWorker({ ...member.worker, concurrency: 0 });
  }
};

/** With fewer places than before it takes no new call, and goes when its last one has ended. */
const isLeftOver = ({ worker, load }: Member): boolean => worker.concurrency === 0 && load === 0;

export const nextLeftOverAt = (turn: Turn): number | null => (edgeMembers(turn).some(isLeftOver) ? turn.nowAt : null);

export const forgetLeftOver = (turn: Turn): void => {
  for (const member of edgeMembers(turn).filter(isLeftOver)) forget(turn, member);
};

/** What a sync found: the models of a provider that is called may be others. */
export const learnCatalog = (turn: Turn, report: CatalogReport): Result<null, Refusal> => {
  const learnt = applyCatalog(turn, report);
  if (learnt.ok && turn.memory.config.providers.get(report.provider)?.edge != null) arrangeEdge(turn);
  return learnt;
};

/** Its calls end, because nobody will wait for them. */
const stopWork = (turn: Turn, instance: string): void => {
  for (const job of turn.store.jobs.leasedBy(instance)) {
    turn.sendHalt(job, "the provider is no longer called by the coordinator");
    recordLost(turn, job);
  }
};

interface Place {
  readonly instance: string;
  readonly provider: string;
  readonly edge: EdgeConfig;
  readonly models: readonly string[];
  readonly number: number;
}

const arrangeOne = (turn: Turn, { instance, provider, edge, models, number }: Place): void => {
  const { fleet, killswitch } = turn.memory;
  const known = fleet.get(instance)?.worker ?? null;
  const tags = [...new Set(["edge", ...edge.tags])];
  const report = {
    instance,
    provider,
    tags,
    tagList: tags.join(","),
    tier: edge.tier,
    version: null,
    concurrency: Math.min(EDGE_PLACES, edge.maxConcurrent - number * EDGE_PLACES),
    apis: known?.isEdge === true ? known.apis : [],
    models,
    runtimeModels: null,
    machine: UNKNOWN_MACHINE,
    unavailable: models.length === 0 ? noModels(provider) : knownTrouble(known),
    jobs: null,
  };
  const resumedEpoch = known?.resumedEpoch ?? epochOfNewWorker(killswitch);
  const worker = {
    ...registerWorker(report, known, { keyId: null, viaSocket: true, isFull: false }, turn.nowAt),
    isEdge: true,
    resumedEpoch,
    isHalted: isHaltedBy(killswitch, resumedEpoch),
  };
  turn.putWorker(worker);
  turn.store.workers.putModels(instance, { models, runtimeModels: null });
  fleet.noteReach(instance, { isConnected: true, isLockedOut: false });
  turn.freedWorkers.add(instance);
};

const knownTrouble = (known: Worker | null): string | null => (known?.isEdge === true ? known.unavailable : NOT_ASKED);

const noModels = (provider: string): string =>
  `it has no models: name them in providers.${provider}.edge.models, or subscribe to its catalog`;

/** The names that it takes: those of the config, and those of the catalog that a pattern means. */
const modelsOf = (turn: Turn, provider: string, { models: asked }: EdgeConfig): readonly string[] => {
  const listed = [...(turn.memory.catalog.get(provider)?.models ?? [])];
  const named =
    asked === null
      ? listed
      : [...asked.filter((name) => !name.includes("*")), ...listed.filter((name) => mayUseModel(asked, name))];
  let bytes = 0;
  return [...new Set(named)].filter((name) => {
    bytes += name.length;
    return bytes <= MAX_OFFER_BYTES / 2;
  });
};

/**
 * Asks, after this turn, whether the provider can be called. Each worker has read the key for itself, and reads it again.
 */
export const askEdge = (turn: Turn, provider: string): void => {
  for (const { worker } of edgeMembersOf(turn, provider)) turn.effects.askedEdges.add(worker.instance);
  askAgainAt(turn, provider, turn.nowAt + ASK_AGAIN_MS);
};

const askAgainAt = (turn: Turn, provider: string, at: number): void => {
  turn.memory.edge.askAt.set(provider, at);
  turn.due(at);
};

/** The answer of one of its workers, which holds for all. */
export const learnEdge = (turn: Turn, instance: string, { apis, unavailable }: EdgeState): void => {
  const { config, fleet } = turn.memory;
  const provider = fleet.get(instance)?.worker.provider ?? "";
  const edge = config.providers.get(provider)?.edge ?? null;
  if (edge === null) return;
  turn.memory.edge.askAt.delete(provider);
  const words = modelsOf(turn, provider, edge).length === 0 ? noModels(provider) : unavailable;
  if (unavailable !== null) askAgainAt(turn, provider, turn.nowAt + TRY_AGAIN_MS);
  for (const { worker } of edgeMembersOf(turn, provider)) {
    turn.putWorker({ ...worker, apis, unavailable: words });
    if (words === null) turn.freedWorkers.add(worker.instance);
  }
  if (words !== null) turn.reopenAvoiding();
  turn.log("info", "edge.state", { detail: `${provider}: ${words ?? "can be called"}` });
};

/** The provider refused its key, or the account has no money: no job goes there for a while. */
export const noteEdgeTrouble = (turn: Turn, instance: string, words: string): void => {
  const provider = turn.memory.fleet.get(instance)?.worker.provider;
  if (provider === undefined) return;
  for (const { worker } of edgeMembersOf(turn, provider)) turn.putWorker({ ...worker, unavailable: words });
  turn.reopenAvoiding();
  turn.log("warn", "edge.refused", { worker: instance, detail: words });
  askAgainAt(turn, provider, turn.nowAt + TRY_AGAIN_MS);
};

const edgeMembers = ({ memory: { fleet } }: Turn): Member[] =>
  [...fleet.offers.edge.members()].map((slot) => fleet.at(slot));

const edgeMembersOf = (turn: Turn, provider: string): Member[] =>
  edgeMembers(turn).filter(({ worker }) => worker.provider === provider);

/** When a provider is asked again; null if none is to be. */
export const nextEdgeAskAt = (turn: Turn): number | null => earliest([...turn.memory.edge.askAt.values()]);

export const askEdgesAgain = (turn: Turn): void => {
  for (const [provider, at] of turn.memory.edge.askAt) if (at <= turn.nowAt) askEdge(turn, provider);
};
