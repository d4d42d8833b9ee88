// What the service itself does with a tenant, without a key of it: making and ending it, moving it, its catalog.

import type { KeyResource } from "../../contract/access/key.ts";
import type { MovingTenant } from "../../contract/move.ts";
import type { Metric } from "../../domain/insight/exposition.ts";
import type { PageRequest, TablePage, TableRows } from "../../domain/tenant/moved-rows.ts";
import type { HistoryPlace } from "../../domain/tenant/tenant-database.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { ok, type Result } from "../../domain/words/result.ts";
import type { AdmissionAnswer, AdmissionName, AdmissionRequest } from "../../durable-objects/admissions.ts";
import type { HistoryMove } from "../../durable-objects/moves/history-move.ts";
import type { Leaving } from "../../durable-objects/moves/moving.ts";
import type { Arrival } from "../../durable-objects/moves/relocation.ts";
import type { NewKey, NewTenant } from "../../durable-objects/operations/access/keys.ts";
import type { CatalogReport } from "../../durable-objects/steps/catalog.ts";
import type { Env } from "../env.ts";
import { unwrap } from "../http/refused.ts";
import { remote, type TenantName, tenantObject, withTenant } from "./tenant-object.ts";

/** Created near `request.locationHint` by the first call to the object; then history learns of it. */
export const createTenant = async (env: Env, request: NewTenant): Promise<Result<null, Refusal>> => {
  const object = tenantObject(env, request, request.locationHint ?? undefined);
  const created = await remote(object).create(request);
  if (created.ok) await object.drain();
  return created;
};

/** Adds an admin key to a tenant. */
export const addAdminKey = (env: Env, name: TenantName, key: NewKey): Promise<Result<KeyResource, Refusal>> =>
  withTenant(env, name, false, (stub) => remote(stub).addAdminKey(key));

/** What the edge asks for somebody who has no session yet (`durable-objects/admissions.ts`). */
export const admission = <Name extends AdmissionName>(
  env: Env,
  name: TenantName,
  asked: Name,
  request: AdmissionRequest<Name>,
): Promise<Result<AdmissionAnswer<Name>, Refusal>> =>
  withTenant(env, name, asked === "readSignIn", (stub) => remote(stub).admit(asked, request));

/** Sets what a tenant may store; null: as every other. */
export const boundTenant = (
  env: Env,
  name: TenantName,
  maxGb: number | null,
): Promise<Result<{ storedBytes: number }, Refusal>> =>
  withTenant(env, name, true, (stub) => remote(stub).bound({ maxGb }));

export const tellTenantMetrics = (env: Env, name: TenantName): Promise<Result<Metric[], Refusal>> =>
  withTenant(env, name, true, (stub) => remote(stub).tellMetrics());

/** The steps of a move; each may be repeated. */
export const leaveTenant = (env: Env, name: TenantName, to: string): Promise<Result<Leaving, Refusal>> =>
  withTenant(env, name, true, (stub) => remote(stub).leave(to));

export const stayTenant = (env: Env, name: TenantName): Promise<Result<null, Refusal>> =>
  withTenant(env, name, true, (stub) => remote(stub).stay());

export const endTenantLeaving = (env: Env, name: TenantName): Promise<Result<null, Refusal>> =>
  withTenant(env, name, true, (stub) => remote(stub).endLeaving());

export const readTenantTable = (
  env: Env,
  name: TenantName,
  request: PageRequest,
): Promise<Result<TablePage, Refusal>> => withTenant(env, name, true, (stub) => remote(stub).readTable(request));

export const makeRoom = (
  env: Env,
  name: TenantName,
  arrival: Arrival,
): Promise<Result<MovingTenant["state"], Refusal>> =>
  withTenant(env, name, true, (stub) => remote(stub).makeRoom(arrival));

export const writeTenantTable = (
  env: Env,
  name: TenantName,
  table: string,
  part: TableRows,
): Promise<Result<null, Refusal>> => withTenant(env, name, true, (stub) => remote(stub).writeTable(table, part));

export const settleTenant = (env: Env, name: TenantName, origin: string): Promise<Result<null, Refusal>> =>
  withTenant(env, name, true, (stub) => remote(stub).settleIn(origin));

export const moveTenantHistory = (
  env: Env,
  name: TenantName,
  move: HistoryMove,
): Promise<Result<HistoryPlace, Refusal>> => withTenant(env, name, true, (stub) => remote(stub).moveHistory(move));

const MAX_FILE_CALLS = 1_000;

/** Ends the tenant's files, keys, sockets and live data; history is left. */
export const destroyTenant = async (env: Env, name: TenantName): Promise<void> => {
  // Some at a time. A file that arrives behind the last call is deleted by its own object, at its end.
  for (let calls = 0; calls < MAX_FILE_CALLS; calls += 1)
    if (!unwrap(await withTenant(env, name, true, async (stub) => ok(await stub.endFiles())))) break;
  unwrap(await withTenant(env, name, true, async (stub) => ok(await stub.destroy())));
};

/** Gives a sync's result to the tenant's routing and cost; `models: null` if nothing follows the provider any more. */
export const learnCatalog = async (env: Env, name: TenantName, report: CatalogReport): Promise<void> => {
  await withTenant(env, name, true, (stub) => remote(stub).learnCatalog(report));
};

/** Its subscriptions are others than before. The change is stored, so it is no failure if no viewer is told. */
export const tellOfSubscriptions = async (env: Env, name: TenantName): Promise<void> => {
  await withTenant(env, name, true, async (stub) => ok(await stub.noteSubscriptions()));
};
