// The front door's settings in the config.

import * as z from "zod";
import type { Alias } from "../../domain/front-door/door-model.ts";
import { type FrontDoorConfig, KEPT_TEXTS } from "../../domain/front-door/front-door.ts";
import { TIERS } from "../../domain/words/requirements.ts";
import { modelName, providerName, recordUpTo, seconds, tags, toMs, toMsOrNull } from "../words/field.ts";

export const MAX_QUEUE_SECONDS = 600;
const MAX_RESPONSES_DAYS = 365;
const MAX_ALIASES = 500;
const MAX_ORIGINS = 100;

const MAX_ALIAS_ENTRIES = 20;
const MAX_WEIGHT = 1000;

const aliasFields = {
  model: modelName,
  provider: providerName.nullish(),
  tags: tags.optional(),
  tier: z.enum(TIERS).nullish(),
};

const aliasList = z
  .array(z.strictObject({ ...aliasFields, weight: z.number().positive().max(MAX_WEIGHT).optional() }))
  .min(1)
  .max(MAX_ALIAS_ENTRIES);

const alias = z.union([z.strictObject(aliasFields), aliasList]).meta({
  description:
    "a model, or a list of models that are tried in order; with `weight`, each conversation begins with one of them",
});

const origin = z
  .string()
  .max(256)
  .refine(
    (given) => given === "*" || (URL.canParse(given) && new URL(given).origin === given),
    "must be an origin such as https://chat.example, or *",
  );

export const frontDoorConfig = z
  .strictObject({
    queue_seconds: seconds(0, MAX_QUEUE_SECONDS)
      .default(30)
      .meta({ description: "seconds that a request waits for a worker" }),
    commit_after_seconds: seconds(0.1, 60).default(5).meta({
      description:
        "seconds until the answer begins; until then a failure has its own status, after that it is an error in the stream",
    }),
    keep_alive_seconds: seconds(0.1, 60)
      .default(5)
      .meta({ description: "seconds of silence after which a comment is written to the stream" }),
    first_token_seconds: seconds(0.1, 3600)
      .nullable()
      .default(null)
      .meta({ description: "seconds after which an attempt without output goes to another worker; null: no limit" }),
    store: z.enum(KEPT_TEXTS).default("result").meta({
      description:
        "what history keeps of finished requests: nothing, the answer, or all; of a request over 1 MiB never the body, which is then null",
    }),
    responses_days: z
      .int()
      .min(1)
      .max(MAX_RESPONSES_DAYS)
      .default(30)
      .meta({ description: "days for which an answer of the Responses API can be retrieved and followed" }),
    aliases: recordUpTo(MAX_ALIASES, modelName, alias).default({}),
    cors_origins: z
      .array(origin)
      .max(MAX_ORIGINS)
      .default([])
      .meta({ description: "of web pages that may call `/v1`" }),
  })
  .meta({ id: "FrontDoorConfig" });

const toAlias = (given: z.infer<typeof aliasList>[number]): Alias => ({
  model: given.model,
  provider: given.provider ?? null,
  tags: given.tags ?? [],
  tier: given.tier ?? null,
  weight: given.weight ?? null,
});

export const toFrontDoorConfig = (document: z.infer<typeof frontDoorConfig>): FrontDoorConfig => ({
  queueMs: toMs(document.queue_seconds),
  commitAfterMs: toMs(document.commit_after_seconds),
  keepAliveMs: toMs(document.keep_alive_seconds),
  firstTokenMs: toMsOrNull(document.first_token_seconds),
  store: document.store,
  responsesDays: document.responses_days,
  aliases: Object.fromEntries(
    Object.entries(document.aliases).map(([name, given]) => [
      name,
      (Array.isArray(given) ? given : [given]).map(toAlias),
    ]),
  ),
  corsOrigins: document.cors_origins,
});
