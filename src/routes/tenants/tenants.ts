// Tenants, managed with the operator's root key.

import { keyAnswer } from "../../../contract/access/key.ts";
import {
  newAdminKeyRequest,
  newTenantAnswer,
  newTenantRequest,
  tenantBound,
  tenantList,
  tenantParam,
  tenantPatch,
} from "../../../contract/tenant.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { archiveOf } from "../../history/archive/store.ts";
import { chooseDatabase } from "../../history/databases.ts";
import { claimTenantName, deleteTenant, listTenants } from "../../history/tenants.ts";
import { answer } from "../../http/answer.ts";
import { type AppContext, signingSecret } from "../../http/auth.ts";
import { mint } from "../../http/key-format.ts";
import { Refused, unwrap } from "../../http/refused.ts";
import { addAdminKey, createTenant, destroyTenant } from "../../tenant/tenant-administration.ts";
import { askObject } from "../../tenant/tenant-object.ts";
import { foundTenant, refuseUnbound, refuseUnknownJurisdiction } from "./found-tenant.ts";

const TENANTS = "Tenants";

const create = endpoint(
  {
    method: "post",
    path: "/admin/tenants",
    tag: TENANTS,
    needs: "root",
    summary: "Create a tenant with its first admin key",
    body: newTenantRequest,
    answers: {
      201: {
        description: "The tenant, with its first admin key; the key is shown only once.",
        schema: newTenantAnswer,
      },
    },
    refuses: ["tenant_exists", "history_unavailable"],
  },
  async (c, { body }) => {
    const { tenant } = body;
    const jurisdiction = body.jurisdiction ?? null;
    const locationHint = body.location_hint ?? null;
    const minted = await mint(signingSecret(c.env), "admin", tenant, jurisdiction);
    const adminKey = { id: minted.id, name: "first admin key", role: "admin" as const, hash: minted.hash };
    refuseUnknownJurisdiction(c, { tenant, jurisdiction });
    const wanted = await wantedDatabase(c, body.database ?? undefined);
    const database = await claimTenantName(c.env, { tenant, jurisdiction }, wanted, Date.now());
    if (database === null) throw new Refused({ code: "tenant_exists", tenant });
    unwrap(await createTenant(c.env, { tenant, jurisdiction, locationHint, adminKey, database }));
    return answer(c, { tenant, admin_key: minted.token }, 201);
  },
);

/** The database that the operator names, or the emptiest. */
const wantedDatabase = async (
  c: AppContext,
  named: number | undefined,
): Promise<{ database: number; isNamed: boolean }> => {
  if (named === undefined) return { database: await chooseDatabase(c.env), isNamed: false };
  refuseUnbound(c, named);
  return { database: named, isNamed: true };
};

const list = endpoint(
  {
    method: "get",
    path: "/admin/tenants",
    tag: TENANTS,
    needs: "root",
    summary: "List all tenants, newest first",
    answers: { 200: { description: "All tenants.", schema: tenantList } },
    refuses: ["history_unavailable"],
  },
  async (c) => {
    return answer(c, { tenants: await listTenants(c.env.DB) });
  },
);

const addKey = endpoint(
  {
    method: "post",
    path: "/admin/tenants/{tenant}/keys",
    tag: TENANTS,
    needs: "root",
    summary: "Create another admin key for a tenant",
    description: "For a tenant whose admin keys are lost. It is recorded in the tenant's audit log.",
    params: tenantParam,
    body: newAdminKeyRequest,
    answers: { 201: { description: "The new admin key; it is shown only once.", schema: keyAnswer } },
    refuses: ["not_found", "history_unavailable"],
  },
  async (c, { params, body }) => {
    const name = await foundTenant(c, params.tenant);
    const minted = await mint(signingSecret(c.env), "admin", name.tenant, name.jurisdiction);
    const asked = { id: minted.id, name: body.name, role: "admin" as const, hash: minted.hash };
    const { id, role } = unwrap(await addAdminKey(c.env, name, asked));
    return answer(c, { id, name: body.name, role, key: minted.token }, 201);
  },
);

const bound = endpoint(
  {
    method: "patch",
    path: "/admin/tenants/{tenant}",
    tag: TENANTS,
    needs: "root",
    summary: "Set how much a tenant may store",
    description: "Over the bound, what would store more is refused with 507; the killswitch and reports are not.",
    params: tenantParam,
    body: tenantPatch,
    answers: { 200: { description: "The bound, and what is stored now.", schema: tenantBound } },
    refuses: ["not_found", "history_unavailable"],
  },
  async (c, { params, body }) => {
    const name = await foundTenant(c, params.tenant);
    const { storedBytes } = unwrap(await askObject(c.env, name, "bound", { maxGb: body.max_gb }));
    return answer(c, { tenant: name.tenant, max_gb: body.max_gb, stored_bytes: Math.round(storedBytes) });
  },
);

const remove = endpoint(
  {
    method: "delete",
    path: "/admin/tenants/{tenant}",
    tag: TENANTS,
    needs: "root",
    summary: "Delete a tenant",
    description: "Its keys and sockets end at once; its live data and history are permanently deleted.",
    params: tenantParam,
    answers: { 204: { description: "Deleted." } },
    refuses: ["not_found", "history_unavailable"],
  },
  async (c, { params }) => {
    const name = await foundTenant(c, params.tenant, true);
    await deleteTenant(c.env, name.tenant, async () => {
      await destroyTenant(c.env, name);
      // A part that is written meanwhile finds that its tenant is away, and goes again.
      await archiveOf(c.env)?.removeAll(name.tenant);
    });
    return c.body(null, 204);
  },
);

export const tenantRoutes: readonly Endpoint[] = [create, list, addKey, bound, remove];
