// What a provider's catalog lists, from the last sync. Routing and cost read it here, so that they do not need D1.

import type { ModelPrice } from "../../domain/catalog/catalog-price.ts";
import { withAnyModel } from "../../domain/fleet/model-set.ts";
import { SERVICE_ACTOR } from "../../domain/words/event.ts";
import { notFound, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { CatalogFacts } from "../store/catalog.ts";
import type { Turn } from "../turn/turn.ts";

export interface CatalogReport {
  readonly provider: string;
  /** null if nothing follows the provider any more. */
  readonly models: readonly { readonly id: string; readonly price?: ModelPrice | undefined }[] | null;
}

/** Stores a provider's models, and audits which workers, jobs and schedules name removed models. */
export const applyCatalog = (turn: Turn, report: CatalogReport): Result<null, Refusal> => {
  // The tenant may have been deleted during the sync.
  if (turn.store.settings.identity() === null) return err(notFound("tenant", ""));
  const { catalog } = turn.memory;
  const { provider, models } = report;
  if (models === null) catalog.delete(provider);
  else {
    const { facts, gone } = afterSync(catalog.get(provider), models, turn.nowAt);
    catalog.set(provider, facts);
    if (gone.length > 0) {
      const detail = { models: gone.slice(0, MAX_NAMED), ...whoNames(turn, provider, gone) };
      turn.audit("catalog.models_removed", provider, detail, SERVICE_ACTOR);
    }
  }
  turn.store.catalog.replace(provider, catalog.get(provider) ?? null);
  turn.effects.changedTopics.add("catalog");
  turn.effects.changedTopics.add("schedule");
  return ok(null);
};

/** The number of removed models that are remembered. */
const MAX_REMEMBERED = 500;
const MAX_NAMED = 50;

/** What is known of a provider's catalog after a sync, and which models it no longer lists. */
const afterSync = (
  before: CatalogFacts | undefined,
  listed: NonNullable<CatalogReport["models"]>,
  nowAt: number,
): { facts: CatalogFacts; gone: readonly string[] } => {
  const models = new Set(listed.map(({ id }) => id));
  const gone = [...(before?.models ?? [])].filter((id) => !models.has(id));
  const removed = [...(before?.removed ?? []), ...gone.map((id) => [id, nowAt] as const)];
  const stillGone = removed.filter(([id]) => !models.has(id)).slice(-MAX_REMEMBERED);
  const prices = listed.flatMap(({ id, price }) => (price === undefined ? [] : [[id, price] as const]));
  return { facts: { models, removed: new Map(stillGone), prices: new Map(prices) }, gone };
};

interface AskedModel {
  readonly provider: string | null;
  readonly model: string | null;
}

/** A note for a request that names a model which its provider's catalog no longer lists; else null. */
export const removedModelNote = (turn: Turn, { provider, model }: AskedModel): string | null => {
  const { catalog } = turn.memory;
  if (model === null || catalog.size === 0) return null;
  const providers = provider === null ? [...catalog.keys()] : [provider];
  const has = (list: "models" | "removed") => (name: string) => catalog.get(name)?.[list].has(model) ?? false;
  if (providers.some(has("models"))) return null;
  const left = providers.filter(has("removed"));
  return left.length === 0 ? null : `the catalog of ${left.join(", ")} no longer lists model "${model}"`;
};

/** By provider, the removed models that workers, jobs or schedules still name. */
export const removedModelsInUse = (turn: Turn): RemovedModels[] =>
  [...turn.memory.catalog]
    .filter(([, facts]) => facts.removed.size > 0)
    .map(([provider, facts]) => ({ provider, ...whoNames(turn, provider, [...facts.removed.keys()]) }))
    .filter(({ models_in_use }) => models_in_use.length > 0);

interface RemovedModels {
  readonly provider: string;
  readonly models_in_use: string[];
  readonly waiting_jobs: number;
  readonly workers: string[];
  readonly schedules: string[];
}

/** The workers, jobs and schedules that name removed models. */
const whoNames = (turn: Turn, provider: string, gone: readonly string[]): Omit<RemovedModels, "provider"> => {
  const isGone = new Set(gone);
  const mayBeGone = withAnyModel(gone);
  const inUse = new Set<string>();
  const workers: string[] = [];
  for (const { worker } of turn.memory.fleet.members()) {
    if (worker.provider !== provider || worker.models === null || !mayBeGone(worker.models)) continue;
    const named = turn.store.workers.modelsOf(worker.instance).models?.filter((model) => isGone.has(model)) ?? [];
    if (named.length > 0) workers.push(worker.instance);
    for (const model of named) inUse.add(model);
  }
  const asksForGone = ({ provider: wanted, model }: AskedModel): boolean =>
    (wanted ?? provider) === provider && model !== null && isGone.has(model);
  const groups = [...turn.memory.queue.groups.values()].filter(({ requirements }) => asksForGone(requirements));
  const schedules = turn.store.schedules.all().filter(asksForGone);
  for (const { model } of [...groups.map(({ requirements }) => requirements), ...schedules])
    if (model !== null) inUse.add(model);
  return {
    models_in_use: [...inUse].slice(0, MAX_NAMED),
    waiting_jobs: groups.reduce((sum, { count }) => sum + count, 0),
    workers: workers.slice(0, MAX_NAMED),
    schedules: schedules.slice(0, MAX_NAMED).map(({ name }) => name),
  };
};
