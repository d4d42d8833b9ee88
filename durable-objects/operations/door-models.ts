// The models of the front door: what a name means now, and which names a client is shown.

import { toIso } from "../../contract/field.ts";
import type { ModelList } from "../../contract/model-list.ts";
import { type Alias, isSameModel, type ModelOffer, namesOf, resolveModel } from "../../domain/door-model.ts";
import type { Member } from "../../domain/fleet.ts";
import { stillMissing } from "../../domain/model-name.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { refuseModel } from "./key-limits.ts";
import { isSilent } from "./last-sign.ts";
import type { Turn } from "./turn.ts";

const offersOf = (turn: Turn): ModelOffer[] => [...turn.memory.fleet.members()].map((member) => offerOf(turn, member));

const offerOf = (turn: Turn, member: Member): ModelOffer => {
  const { provider, models, runtimeModels, missingModels } = member.worker;
  const missing = stillMissing(missingModels, turn.nowAt).map(({ key }) => key);
  return { provider, models, runtimeModels, missing, isOffline: isSilent(turn, member) };
};

const NAMED_MODELS = 5;

export const findModel = (turn: Turn, asked: string): Result<Alias, Refusal> => {
  const found = resolveModel(asked, turn.memory.config.frontDoor.aliases, offersOf(turn));
  if (found !== null) return ok(found);
  const known = listedModels(turn).map(({ id }) => id);
  return err({ code: "model_not_found", model: asked, known: known.slice(0, NAMED_MODELS) });
};

/** What a model's name means now, for a body that is stored before its job is created. */
export const nameModel = (turn: Turn, request: { model: string }): Result<string, Refusal> => {
  const found = findModel(turn, request.model);
  if (!found.ok) return found;
  const allowed = refuseModel(turn, [request.model, found.value.model]);
  return allowed.ok ? ok(found.value.model) : allowed;
};

interface ListedModel {
  readonly id: string;
  readonly ownedBy: string;
  readonly createdAt: number;
}

/**
 * The models named by workers that are not offline, else those that their runtimes list, else those of their provider's
 * catalog.
 */
const listedModels = (turn: Turn): ListedModel[] => {
  const { fleet, catalog, config } = turn.memory;
  const models = new Map<string, ListedModel>();
  const add = (id: string, ownedBy: string, createdAt: number): void => {
    if (!models.has(id)) models.set(id, { id, ownedBy, createdAt });
  };
  for (const id of Object.keys(config.frontDoor.aliases)) add(id, "alias", 0);
  for (const member of fleet.members()) {
    const offer = offerOf(turn, member);
    if (offer.isOffline) continue;
    const { provider, models, runtimeModels } = offer;
    const known = models ?? runtimeModels ?? [...(catalog.get(provider)?.models ?? [])];
    for (const id of namesOf({ ...offer, models: known })) add(id, provider, member.worker.registeredAt);
  }
  return [...models.values()].filter(({ id }) => refuseModel(turn, [id]).ok);
};

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
  return ok({
    object: "list" as const,
    data,
    has_more: false as const,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  });
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
