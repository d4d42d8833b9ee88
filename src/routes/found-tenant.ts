// The tenant that the operator names.

import { notFound } from "../../domain/refusal.ts";
import { findTenant } from "../history/tenants.ts";
import type { AppContext } from "../http/auth.ts";
import { Refused } from "../http/refused.ts";
import type { TenantName } from "../http/tenant-object.ts";

export const foundTenant = async (c: AppContext, tenant: string): Promise<TenantName> => {
  const name = await findTenant(c.env.DB, tenant);
  if (name === null) throw new Refused(notFound("tenant", tenant));
  return name;
};
