// Tenants on the wire: what the operator creates with the root key.

import * as z from "zod";
import { MAX_DATABASES } from "../domain/tenant/tenant-database.ts";
import { count, identifier, instant, label } from "./words/field.ts";

export const tenantName = identifier(
  /^[a-z0-9][a-z0-9-]{0,62}$/,
  63,
  "1 to 63 characters from a-z 0-9 -, not starting with -",
);

const LOCATION_HINTS = [
  "wnam",
  "enam",
  "sam",
  "weur",
  "eeur",
  "apac",
  "apac-ne",
  "apac-se",
  "oc",
  "afr",
  "me",
] as const;

export const databaseNumber = z
  .int()
  .min(0)
  .max(MAX_DATABASES - 1)
  .meta({ description: "the number of the D1 database that has its history; missing: 0, which is `DB`" });

export const newTenantRequest = z
  .strictObject({
    tenant: tenantName,
    location_hint: z.enum(LOCATION_HINTS).nullish(),
    jurisdiction: z.enum(["eu", "fedramp"]).nullish().meta({
      description:
        "where Cloudflare keeps the tenant's live data, with prompts and results until history has them. History is where its D1 database was created: name a `database` created there. Without effect when self-hosted",
    }),
    database: databaseNumber.nullish().meta({
      description:
        "the number of the D1 database that gets its history, 0 for `DB`, 1 for `DB_1`; by default the emptiest one",
    }),
  })
  .meta({ id: "NewTenant" });

export const tenantParam = z.object({ tenant: tenantName });
export const newAdminKeyRequest = z.strictObject({ name: label(100) }).meta({ id: "NewAdminKey" });

const MAX_GB = 1_000_000;
export const tenantPatch = z
  .strictObject({
    max_gb: z.number().min(0).max(MAX_GB).nullable().meta({
      description: "what the tenant may store, in GB of 10⁹ bytes; null: as every other (SERVICE_TENANT_MAX_GB)",
    }),
  })
  .meta({ id: "TenantPatch" });

export const tenantBound = z
  .object({ tenant: z.string(), max_gb: z.number().nullable(), stored_bytes: count })
  .meta({ id: "TenantBound" });

export const newTenantAnswer = z.object({ tenant: z.string(), admin_key: z.string() }).meta({ id: "TenantCreated" });
export const tenantList = z
  .object({
    tenants: z.array(
      z.object({
        tenant: z.string(),
        created_at: instant,
        database: databaseNumber.optional(),
        deleting: z.literal(true).optional().meta({ description: "its deletion is to be repeated" }),
      }),
    ),
  })
  .meta({ id: "TenantList" });

export type NewTenantRequest = z.infer<typeof newTenantRequest>;
export type TenantPatch = z.infer<typeof tenantPatch>;
export type TenantBound = z.infer<typeof tenantBound>;
export type NewAdminKeyRequest = z.infer<typeof newAdminKeyRequest>;
export type NewTenantAnswer = z.infer<typeof newTenantAnswer>;
export type TenantList = z.infer<typeof tenantList>;
