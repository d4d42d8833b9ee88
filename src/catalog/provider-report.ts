// What a provider lists now, over all of a tenant's subscriptions to it: what the tenant's object routes and prices by.

import type { ListedModel } from "../../domain/catalog/catalog.ts";
import type { TenantHistory } from "../history/tenant-history.ts";
import { modelsOfProvider } from "./snapshot.ts";

type ReportedModel = Pick<ListedModel, "id"> & { readonly price: ListedModel["price"] | undefined };

/** `models: null` if nothing follows the provider any more. */
interface ProviderReport {
  readonly provider: string;
  readonly models: readonly ReportedModel[] | null;
}

/** If several subscriptions list a model, the latest price counts. */
export const providerReport = async (history: TenantHistory, provider: string): Promise<ProviderReport> => {
  const all = await modelsOfProvider(history, provider);
  const listed = new Map<string, ReportedModel>();
  for (const { id, price } of all ?? []) listed.set(id, { id, price: price ?? listed.get(id)?.price });
  return { provider, models: all === null ? null : [...listed.values()] };
};
