// The models of the front door: what a name means now, and which names a client is shown.

import type { ModelList } from "../../../contract/front-door/model-list.ts";
import { toPage } from "../../../contract/front-door/page.ts";
import { toIso } from "../../../contract/words/field.ts";
import { mayUseModel } from "../../../domain/access/key-limits.ts";
import { stillMissing } from "../../../domain/fleet/model-name.ts";
import { type ModelSet, modelsTaken } from "../../../domain/fleet/model-set.ts";
import type { Worker } from "../../../domain/fleet/worker.ts";
import { choicesOf, isSameModel, type ModelOffer, namesToAllow } from "../../../domain/front-door/door-model.ts";
import type { ModelChoice } from "../../../domain/job/job-facts.ts";
import { modelKeyOf } from "../../../domain/words/model-key.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { allowedModels, refuseModel } from "../../steps/key-limits.ts";
import { isSilent } from "../../steps/last-sign.ts";
import type { Turn } from "../../turn/turn.ts";

/** The names in a worker's list, read once for all workers that have an equal one. */
const namesReader = (turn: Turn): ((worker: Worker) => readonly string[]) => {
  const read = new Map<ModelSet, readonly string[]>();
  return ({ instance, models, runtimeModels }) => {
    const set = models ?? runtimeModels;
    if (set === null) return [];
    const known = read.get(set);
    if (known !== undefined) return known;
    const stored = turn.store.workers.modelsOf(instance);
    const names = (models === null ? stored.runtimeModels : stored.models) ?? [];
    read.set(set, names);
    return names;
  };
};

/** The keys of the models that a worker's runtime is known to lack now. */
const lackedBy = (turn: Turn, { missingModels }: Worker): readonly string[] =>
  stillMissing(missingModels, turn.nowAt).map(({ key }) => key);

const without = (names: readonly string[], lacked: readonly string[]): readonly string[] =>
  lacked.length === 0 ? names : names.filter((name) => !lacked.includes(modelKeyOf(name)));

const offersOf = (turn: Turn): ModelOffer[] => {
  const namesOf = namesReader(turn);
  return [...turn.memory.fleet.members()].map((member) => {
    const { worker } = member;
    const missing = lackedBy(turn, worker);
    return {
      provider: worker.provider,
      listed: worker.models ?? worker.runtimeModels,
      names: () => without(namesOf(worker), missing),
      missing,
      takesAny: modelsTaken(worker) === null && !isSilent(turn, member),
    };
  });
};

const NAMED_MODELS = 5;
/** An answer of the object may have 32 MiB. */
const MAX_LISTED_MODELS = 10_000;
/** Where a key has patterns, about so many pieces of them are compared: beyond it names are left out. */
const MAX_COMPARED = 500_000;

const MAX_CHOICES = 20;

interface AskedModels {
  readonly model: string;
  /** What the request itself names to be tried after it. */
  readonly others: readonly string[];
  /** Of the conversation. */
  readonly seed: string;
}

export interface FoundModels {
  /** In the order in which they are tried; at least one. */
  readonly choices: readonly ModelChoice[];
  /** The names before the first choice, which mean nothing now. */
  readonly unknown: readonly string[];
}

/** What the names mean; at least one of them must mean something. */
export const findModels = (turn: Turn, asking: AskedModels): Result<FoundModels, Refusal> => {
  const { model: asked, others, seed } = asking;
  const { aliases } = turn.memory.config.frontDoor;
  const offers = offersOf(turn);
  const found = [asked, ...others]
    .map((name) => ({ name, choices: choicesOf(name, aliases, offers, seed) }))
    .filter(({ name, choices: [choice] }, at) => at === 0 || refuseModel(turn, allowedAs(turn, name, choice)).ok);
  const first = found.findIndex(({ choices }) => choices.length > 0);
  if (first >= 0) {
    const choices = found.flatMap((one) => one.choices).slice(0, MAX_CHOICES);
    return ok({ choices, unknown: found.slice(0, first).map(({ name }) => name) });
  }
  const known = listedModels(turn, NAMED_MODELS).map(({ id }) => id);
  return err({ code: "model_not_found", model: asked, known });
};

/** The names under which the caller's key may be allowed what it asks for. */
export const allowedAs = (turn: Turn, asked: string, choice: ModelChoice | undefined): readonly string[] =>
  namesToAllow(asked, choice, turn.memory.config.frontDoor.aliases, allowedModels(turn));

interface ListedModel {
  readonly id: string;
  readonly ownedBy: string;
  readonly createdAt: number;
}

/**
 * The models named by workers that are not offline, else those that their runtimes list, else those of their provider's
 * catalog.
 */
const listedModels = (turn: Turn, limit = MAX_LISTED_MODELS): ListedModel[] => {
  const patterns = allowedModels(turn);
  let left = MAX_COMPARED;
  const cost = (patterns ?? []).reduce((sum, pattern) => sum + pattern.split("*").length, 1);
  const models = new Map<string, ListedModel>();
  for (const model of modelsToList(turn)) {
    left -= cost;
    if (models.size === limit || left < 0) break;
    if (!models.has(model.id) && (patterns === null || mayUseModel(patterns, model.id))) models.set(model.id, model);
  }
  return [...models.values()];
};

function* modelsToList(turn: Turn): Generator<ListedModel> {
  const { fleet, catalog, config } = turn.memory;
  for (const id of Object.keys(config.frontDoor.aliases)) yield { id, ownedBy: "alias", createdAt: 0 };
  const namesOf = namesReader(turn);
  const seen = new Set<ModelSet>();
  for (const member of fleet.members()) {
    const { worker } = member;
    const { provider, registeredAt } = worker;
    if (isSilent(turn, member)) continue;
    const set = worker.models ?? worker.runtimeModels;
    const lacked = lackedBy(turn, worker);
    if (set !== null && seen.has(set)) continue;
    if (set !== null && lacked.length === 0) seen.add(set);
    const ids = set === null ? [...(catalog.get(provider)?.models ?? [])] : namesOf(worker);
    for (const id of without(ids, lacked)) yield { id, ownedBy: provider, createdAt: registeredAt };
  }
}

export const listModels = (turn: Turn): Result<ModelList, Refusal> => {
  const data = listedModels(turn).map(({ id, ownedBy, createdAt }) => ({
    id,
    object: "model" as const,
    type: "model" as const,
    created: Math.floor(createdAt / 1000),
    created_at: toIso(createdAt),
    owned_by: ownedBy,
    display_name: id,
  }));
  return ok({ object: "list", ...toPage(data, false), has_more: false });
};

/** The listed model that a name means. */
export const getModel = (turn: Turn, request: { model: string }): Result<ModelList["data"][number], Refusal> => {
  const listed = listModels(turn);
  if (!listed.ok) return listed;
  const { data } = listed.value;
  const found = data.find(({ id }) => id === request.model) ?? data.find(({ id }) => isSameModel(id, request.model));
  if (found !== undefined) return ok(found);
  return err({ code: "model_not_found", model: request.model, known: data.slice(0, NAMED_MODELS).map(({ id }) => id) });
};
