// What a provider's catalog lists, told by the sync: routing and cost read it here, so that neither needs D1.

import type { ModelPrice } from "../../domain/catalog-price.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { ok, type Result } from "../../domain/result.ts";
import type { Turn } from "./turn.ts";

export interface CatalogReport {
  readonly provider: string;
  /** null where nothing follows the provider any more. */
  readonly models: readonly { readonly id: string; readonly price?: ModelPrice | undefined }[] | null;
}

/** Takes over the models of a provider, and writes down whom it concerns that some are gone. */
export const applyCatalog = (turn: Turn, report: CatalogReport): Result<null, Refusal> => {
  const { catalog } = turn.memory;
  const before = catalog.get(report.provider);
  if (report.models === null) catalog.delete(report.provider);
  else {
    const models = report.models.map((model) => model.id);
    const listed = new Set(models);
    const goneNow = (before?.models ?? []).filter((id) => !listed.has(id));
    const removed = [...new Set([...(before?.removed ?? []), ...goneNow])].filter((id) => !listed.has(id));
    const prices: Record<string, ModelPrice> = {};
    for (const { id, price } of report.models) if (price !== undefined) prices[id] = price;
    catalog.set(report.provider, { models, removed: removed.slice(-MAX_REMEMBERED), prices });
    if (goneNow.length > 0) {
      turn.audit("catalog.models_removed", report.provider, concerned(turn, report.provider, goneNow));
    }
  }
  turn.store.settings.putCatalog(Object.fromEntries(catalog));
  turn.effects.changedTopics.add("catalog");
  return ok(null);
};

/** Models that are gone are remembered this far back. */
const MAX_REMEMBERED = 500;
const MAX_NAMED = 50;

/** Who still names the models that are gone. */
const concerned = (turn: Turn, provider: string, gone: readonly string[]) => {
  const isGone = new Set(gone);
  const workers: string[] = [];
  for (const { worker } of turn.memory.fleet.members()) {
    if (worker.provider === provider && worker.models?.some((model) => isGone.has(model)))
      workers.push(worker.instance);
  }
  let jobs = 0;
  for (const { requirements, count } of turn.memory.queue.groups.values()) {
    if (requirements.provider === provider && requirements.model !== null && isGone.has(requirements.model))
      jobs += count;
  }
  const schedules = turn.store.schedules
    .all()
    .filter((one) => one.provider === provider && one.model !== null && isGone.has(one.model))
    .map((one) => one.name);
  return {
    models: gone.slice(0, MAX_NAMED),
    waiting_jobs: jobs,
    workers: workers.slice(0, MAX_NAMED),
    schedules: schedules.slice(0, MAX_NAMED),
  };
};
