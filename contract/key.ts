// Keys on the wire. A secret is in the answer that makes it and nowhere else.

import * as z from "zod";
import { type KeyRecord, ROLES } from "../domain/key.ts";
import { identifier, instant, label, toIso, toIsoOrNull } from "./field.ts";

export const role = z.enum(ROLES);

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

export type NewKeyRequest = z.infer<typeof newKeyRequest>;
export type RotateKeyRequest = z.input<typeof rotateKeyRequest>;
export type KeyResource = z.infer<typeof keyResource>;
export type KeyAnswer = z.infer<typeof keyAnswer>;
export type KeyList = z.infer<typeof keyList>;

export const presentKey = (key: KeyRecord): KeyResource => ({
  id: key.id,
  name: key.name,
  role: key.role,
  created_at: toIso(key.createdAt),
  last_used_at: toIsoOrNull(key.lastUsedAt),
  revoked_at: toIsoOrNull(key.revokedAt),
});
