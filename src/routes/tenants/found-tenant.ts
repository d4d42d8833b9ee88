// The tenant that the operator names.

import { bindingOf, databaseOf } from "../../../domain/tenant/tenant-database.ts";
import { invalid, notFound } from "../../../domain/words/refusal.ts";
import { type FoundTenant, findTenant } from "../../history/tenants.ts";
import type { AppContext } from "../../http/auth.ts";
import { Refused } from "../../http/refused.ts";
import { type TenantName, tenantObject } from "../../tenant/tenant-object.ts";

/** One that is being deleted is found by its deletion alone, which may be repeated. */
export const foundTenant = async (c: AppContext, tenant: string, mayBeEnding = false): Promise<FoundTenant> => {
  const name = await findTenant(c.env, tenant);
  if (name === null || (name.away === "ending" && !mayBeEnding)) throw new Refused(notFound("tenant", tenant));
  return name;
};

export const refuseUnbound = (c: AppContext, database: number): void => {
  if (databaseOf(c.env, database) === undefined)
    throw new Refused(invalid("database", `is not bound: this service has no ${bindingOf(database)}`));
};

/** Not every runtime supports jurisdictions. Where they are not supported, asking for an object throws. */
export const refuseUnknownJurisdiction = (c: AppContext, name: TenantName): void => {
  try {
    tenantObject(c.env, name);
  } catch {
    throw new Refused(invalid("jurisdiction", "is not supported where this service runs"));
  }
};
