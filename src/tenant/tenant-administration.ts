// What the service itself does with a tenant, without a key of it: making and ending it, and its catalog.

import type { KeyResource } from "../../contract/access/key.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { ok, type Result } from "../../domain/words/result.ts";
import type { AdmissionAnswer, AdmissionName, AdmissionRequest } from "../../durable-objects/admissions.ts";
import type { NewKey, NewTenant } from "../../durable-objects/operations/access/keys.ts";
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

const MAX_FILE_CALLS = 1_000;

/** Ends the tenant's files, keys, sockets and live data; history is left. */
export const destroyTenant = async (env: Env, name: TenantName): Promise<void> => {
  // Some at a time. A file that arrives behind the last call is deleted by its own object, at its end.
  for (let calls = 0; calls < MAX_FILE_CALLS; calls += 1)
    if (!unwrap(await withTenant(env, name, true, async (stub) => ok(await stub.endFiles())))) break;
  unwrap(await withTenant(env, name, true, async (stub) => ok(await stub.destroy())));
};

/** Its subscriptions are others than before. The change is stored, so it is no failure if no viewer is told. */
export const tellOfSubscriptions = async (env: Env, name: TenantName): Promise<void> => {
  await withTenant(env, name, true, async (stub) => ok(await stub.noteSubscriptions()));
};
