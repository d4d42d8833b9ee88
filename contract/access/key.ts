// Keys on the wire. Only the answer that creates a secret contains it.

import * as z from "zod";
import { type KeyRecord, ROLES } from "../../domain/access/key.ts";
import type { KeyLimits, UseLimits } from "../../domain/access/key-limits.ts";
import { nanoFromUsd, usdFromNano } from "../../domain/money/price.ts";
import { changeOf, identifier, instant, label, modelName, toIso, toIsoOrNull, usd } from "../words/field.ts";

export const role = z.enum(ROLES);

const useLimits = {
  requests_per_minute: z.int().min(1).max(1_000_000).nullish(),
  tokens_per_minute: z.int().min(1).max(1_000_000_000).nullish().meta({
    description: "tokens of inputs and answers; an answer's own bound is reserved, and corrected when it has ended",
  }),
  concurrent: z.int().min(1).max(100_000).nullish().meta({ description: "jobs that may be open at the same time" }),
  day_usd: usd.nullish(),
};

const userLimits = z.strictObject(useLimits).meta({
  id: "UserLimits",
  description:
    "limits of each person that the key's requests name: `fairness_key`, the header `X-Signalbox-User`, or the body's `user` or `safety_identifier`",
});

export const keyLimits = z
  .strictObject({
    ...useLimits,
    max_waiting: z.int().min(1).max(1_000_000).nullish().meta({ description: "jobs that may wait at the same time" }),
    per_user: userLimits.nullish(),
    month_usd: usd.nullish(),
    models: z
      .array(modelName)
      .min(1)
      .max(200)
      .nullish()
      .meta({ description: "models that the key may use; `*` matches any characters" }),
    edge: z.boolean().nullish().meta({
      description: "false: its jobs do not go to a provider that the coordinator calls itself",
    }),
  })
  .meta({ id: "KeyLimits", description: "limits of the key, checked in the transaction that creates a job" });

const weight = z.number().min(0.01).max(100).meta({
  description: "how much of what is served its jobs get among equal jobs of other keys; default 1",
});

export const newKeyRequest = z
  .strictObject({ name: label(100), role, limits: keyLimits.nullish(), weight: weight.optional() })
  .meta({ id: "NewKey" });
export const patchKeyRequest = changeOf({
  name: label(100).optional(),
  limits: keyLimits.nullish(),
  weight: weight.optional(),
}).meta({ id: "KeyPatch", examples: [{ weight: 3 }] });
export const rotateKeyRequest = z
  .strictObject({ grace_seconds: z.int().min(0).max(86_400).default(0) })
  .meta({ id: "RotateKey" });

export const keyAnswer = z
  .object({
    id: z.string(),
    name: z.string(),
    role,
    key: z.string().meta({ description: "the secret; shown only once" }),
  })
  .meta({ id: "KeyWithSecret" });

export const keyResource = z
  .object({
    id: z.string(),
    name: z.string(),
    role,
    limits: keyLimits.nullable(),
    weight,
    person_id: z.string().nullable().meta({ description: "the person whose key it is; null: a key of the tenant" }),
    created_at: instant,
    last_used_at: instant.nullable(),
    revoked_at: instant.nullable(),
  })
  .meta({ id: "Key" });

export const keyList = z.object({ keys: z.array(keyResource) }).meta({ id: "KeyList" });
export const keyIdParam = z.object({ id: identifier(/^[A-Za-z0-9]+$/, 32, "letters and digits") });

export type NewKeyRequest = z.infer<typeof newKeyRequest>;
export type PatchKeyRequest = z.input<typeof patchKeyRequest>;
export type RotateKeyRequest = z.input<typeof rotateKeyRequest>;
export type KeyResource = z.infer<typeof keyResource>;
export type KeyAnswer = z.infer<typeof keyAnswer>;
export type KeyList = z.infer<typeof keyList>;

const toUseLimits = (body: z.infer<typeof userLimits>): UseLimits => ({
  requestsPerMinute: body.requests_per_minute ?? null,
  tokensPerMinute: body.tokens_per_minute ?? null,
  concurrent: body.concurrent ?? null,
  dayNanoUsd: body.day_usd == null ? null : nanoFromUsd(body.day_usd),
});

const presentUse = (limits: UseLimits): z.infer<typeof userLimits> => ({
  ...(limits.requestsPerMinute === null ? {} : { requests_per_minute: limits.requestsPerMinute }),
  ...(limits.tokensPerMinute === null ? {} : { tokens_per_minute: limits.tokensPerMinute }),
  ...(limits.concurrent === null ? {} : { concurrent: limits.concurrent }),
  ...(limits.dayNanoUsd === null ? {} : { day_usd: usdFromNano(limits.dayNanoUsd) }),
});

export const toKeyLimits = (body: z.infer<typeof keyLimits>): KeyLimits => ({
  ...toUseLimits(body),
  maxWaiting: body.max_waiting ?? null,
  perUser: body.per_user == null ? null : toUseLimits(body.per_user),
  monthNanoUsd: body.month_usd == null ? null : nanoFromUsd(body.month_usd),
  models: body.models ?? null,
  edge: body.edge ?? null,
});

/** Only the limits that are set. */
const presentLimits = (limits: KeyLimits): z.infer<typeof keyLimits> => ({
  ...presentUse(limits),
  ...(limits.maxWaiting === null ? {} : { max_waiting: limits.maxWaiting }),
  ...(limits.perUser === null ? {} : { per_user: presentUse(limits.perUser) }),
  ...(limits.monthNanoUsd === null ? {} : { month_usd: usdFromNano(limits.monthNanoUsd) }),
  ...(limits.models === null ? {} : { models: [...limits.models] }),
  ...(limits.edge === null ? {} : { edge: limits.edge }),
});

export const presentKey = (key: KeyRecord): KeyResource => ({
  id: key.id,
  name: key.name,
  role: key.role,
  limits: key.limits === null ? null : presentLimits(key.limits),
  weight: key.weight,
  person_id: key.personId,
  created_at: toIso(key.createdAt),
  last_used_at: toIsoOrNull(key.lastUsedAt),
  revoked_at: toIsoOrNull(key.revokedAt),
});
