// Tenants, for the holder of the operator's root key.

import { newTenantAnswer, newTenantRequest, tenantList } from "../../contract/tenant.ts";
import { invalid } from "../../domain/refusal.ts";
import { claimTenantName, listTenants } from "../history/tenants.ts";
import { answer } from "../http/answer.ts";
import { type AppContext, signingSecret } from "../http/auth.ts";
import { mint } from "../http/key-format.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { type Endpoint, endpoint } from "../http/router.ts";
import { createTenant, type TenantName, tenantObject } from "../http/tenant.ts";

const TENANTS = "Tenants";

const create = endpoint(
  {
    method: "post",
    path: "/admin/tenants",
    tag: TENANTS,
    needs: "root",
    summary: "Create a tenant with its first admin key",
    body: newTenantRequest,
    answers: { 201: { description: "The key is shown this once.", schema: newTenantAnswer } },
    refuses: ["tenant_exists", "history_unavailable"],
  },
  async (c, { body }) => {
    const { tenant } = body;
    const jurisdiction = body.jurisdiction ?? null;
    const locationHint = body.location_hint ?? null;
    const minted = await mint(signingSecret(c.env), "admin", tenant, jurisdiction);
    const adminKey = { id: minted.id, name: "first admin key", role: "admin" as const, hash: minted.hash };
    refuseUnknownJurisdiction(c, { tenant, jurisdiction });
    const isFree = await claimTenantName(c.env.DB, { tenant, jurisdiction }, Date.now());
    if (!isFree) throw new Refused({ code: "tenant_exists", tenant });
    unwrap(await createTenant(c.env, { tenant, jurisdiction, locationHint, adminKey }));
    return answer(c, { tenant, admin_key: minted.token }, 201);
  },
);

/** Not every runtime knows jurisdictions; one that does not says so when asked for an object. */
const refuseUnknownJurisdiction = (c: AppContext, name: TenantName): void => {
  try {
    tenantObject(c.env, name);
  } catch {
    throw new Refused(invalid("jurisdiction", "is not supported where this service runs"));
  }
};

const list = endpoint(
  {
    method: "get",
    path: "/admin/tenants",
    tag: TENANTS,
    needs: "root",
    summary: "All tenants, newest first",
    answers: { 200: { description: "Them.", schema: tenantList } },
    refuses: ["history_unavailable"],
  },
  async (c) => {
    return answer(c, { tenants: await listTenants(c.env.DB) });
  },
);

export const tenantRoutes: readonly Endpoint[] = [create, list];
