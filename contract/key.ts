// Tenants, keys, sessions and the audit log on the wire.

import * as z from "zod";
import type { AuditEntry } from "../domain/event.ts";
import { type KeyRecord, ROLES } from "../domain/key.ts";
import { identifier, instant, json, label, listQuery, page, toIso, toIsoOrNull } from "./field.ts";

export const role = z.enum(ROLES);
export const tenantName = identifier(
  /^[a-z0-9][a-z0-9-]{0,62}$/,
  63,
  "1 to 63 characters from a-z 0-9 -, not beginning with -",
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

export const newTenantRequest = z
  .strictObject({
    tenant: tenantName,
    location_hint: z.enum(LOCATION_HINTS).nullish(),
    jurisdiction: z.enum(["eu", "fedramp"]).nullish(),
  })
  .meta({ id: "NewTenant" });

export const newTenantAnswer = z.object({ tenant: z.string(), admin_key: z.string() }).meta({ id: "TenantCreated" });
export const tenantList = z
  .object({ tenants: z.array(z.object({ tenant: z.string(), created_at: instant })) })
  .meta({ id: "TenantList" });

export const newKeyRequest = z.strictObject({ name: label(100), role }).meta({ id: "NewKey" });
export const rotateKeyRequest = z
  .strictObject({ grace_seconds: z.int().min(0).max(86_400).default(0) })
  .meta({ id: "RotateKey" });

export const keyAnswer = z
  .object({ id: z.string(), name: z.string(), role, key: z.string().meta({ description: "shown this once" }) })
  .meta({ id: "KeyWithSecret" });

export const keyResource = z
  .object({
    id: z.string(),
    name: z.string(),
    role,
    created_at: instant,
    last_used_at: instant.nullable(),
    revoked_at: instant.nullable(),
  })
  .meta({ id: "Key" });

export const keyList = z.object({ keys: z.array(keyResource) }).meta({ id: "KeyList" });
export const keyIdParam = z.object({ id: identifier(/^[A-Za-z0-9]+$/, 32, "letters and digits") });

export const sessionRequest = z.strictObject({ key: z.string().min(1).max(512) }).meta({ id: "SignIn" });
export const sessionAnswer = z
  .object({ tenant: z.string(), role, name: z.string(), expires_at: instant.nullable() })
  .meta({ id: "Session" });

export const auditQuery = z.strictObject(listQuery);
export const auditList = z
  .object({
    entries: z.array(
      z.object({
        at: instant,
        actor: z.object({ key_id: z.string().nullable(), name: z.string() }),
        action: z.string(),
        target: z.string(),
        detail: json,
      }),
    ),
    ...page,
  })
  .meta({ id: "AuditList" });

export type NewTenantRequest = z.infer<typeof newTenantRequest>;
export type NewTenantAnswer = z.infer<typeof newTenantAnswer>;
export type TenantList = z.infer<typeof tenantList>;
export type NewKeyRequest = z.infer<typeof newKeyRequest>;
export type RotateKeyRequest = z.input<typeof rotateKeyRequest>;
export type KeyResource = z.infer<typeof keyResource>;
export type KeyAnswer = z.infer<typeof keyAnswer>;
export type KeyList = z.infer<typeof keyList>;
export type SessionRequest = z.infer<typeof sessionRequest>;
export type SessionAnswer = z.infer<typeof sessionAnswer>;
export type AuditList = z.infer<typeof auditList>;
export type AuditEntryResource = z.infer<typeof auditList>["entries"][number];

export const presentKey = (key: KeyRecord): KeyResource => ({
  id: key.id,
  name: key.name,
  role: key.role,
  created_at: toIso(key.createdAt),
  last_used_at: toIsoOrNull(key.lastUsedAt),
  revoked_at: toIsoOrNull(key.revokedAt),
});

export const presentAuditEntry = (entry: AuditEntry): AuditEntryResource => ({
  at: toIso(entry.at),
  actor: { key_id: entry.actor.keyId, name: entry.actor.name },
  action: entry.action,
  target: entry.target,
  detail: entry.detail,
});
