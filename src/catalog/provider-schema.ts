// The strict schema of a provider file. What passes is safe to use without further checks: addresses parse, paths are
// readable, our headers cannot be overridden, and a key is never sent to a wildcard host.

import * as z from "zod";
import { API_DIALECTS, type ProviderDefinition } from "../../domain/catalog/catalog.ts";
import { isFieldPath, isListPath } from "../../domain/catalog/catalog-path.ts";
import { APIS } from "../../domain/words/api.ts";
import { checkUrl, isHostAndPort } from "./url-policy.ts";

const PROVIDER_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
const HEADER_VALUE = /^[\x21-\x7e]([\x20-\x7e]{0,510}[\x21-\x7e])?$/;
const QUERY_PARAMETER = /^[A-Za-z0-9_.-]{1,64}$/;
const FORBIDDEN_HEADER =
  /^(host|authorization|cookie|connection|transfer-encoding|content-length|te|upgrade|proxy-.*|cf-.*|x-forwarded-.*|x-real-ip)$/i;

const fieldPath = z
  .string()
  .refine(
    isFieldPath,
    "must be a dotted path of at most 8 segments from [A-Za-z0-9_-], such as limits.max_input_tokens",
  );

const authHeader = z.string().refine((header) => {
  if (header.startsWith("query:")) return QUERY_PARAMETER.test(header.slice("query:".length));
  return HEADER_NAME.test(header) && !/^(host|cookie|connection|content-length|transfer-encoding)$/i.test(header);
}, "must be bearer, the name of a header, or query:<parameter>");

const auth = z.strictObject({
  header: authHeader,
  ref: z.string().regex(/^provider:[a-z0-9][a-z0-9_-]{0,63}$/, "must be provider:<name>"),
});

const extraHeaders = z.record(
  z
    .string()
    .regex(HEADER_NAME, "is not the name of a header")
    .refine((name) => !FORBIDDEN_HEADER.test(name), "may not be set by a provider file"),
  z.string().regex(HEADER_VALUE, "must be visible ASCII characters"),
);

const pricing = z.strictObject({
  unit: z.enum(["per_token", "per_1m", "cents_per_100m"]),
  input: fieldPath,
  output: fieldPath,
  cached_input: fieldPath.optional(),
  request: fieldPath.optional(),
});

const api = z.strictObject({
  base_url: z.string().max(2048),
  dialect: z.enum(API_DIALECTS),
  apis: z.array(z.enum(APIS)).min(1).optional(),
});

export const providerSchema = z
  .strictObject({
    provider: z
      .string()
      .regex(PROVIDER_NAME, "must be 1–64 characters from [a-z0-9_-], starting with a letter or digit"),
    list_url: z.string().max(2048),
    method: z.enum(["GET", "POST"]).default("GET"),
    local: z.boolean().default(false),
    auth: auth.optional(),
    key_hosts: z
      .array(z.string().refine(isHostAndPort, "must be a host name, in lower case, with its port where it has one"))
      .max(16)
      .optional(),
    api: api.optional(),
    extra_headers: extraHeaders.optional(),
    response_path: z.string().refine(isListPath, "must end in [], such as data[], models[] or []"),
    fields: z.strictObject({ id: fieldPath, name: fieldPath.optional(), context_window: fieldPath.optional() }),
    pagination: z
      .strictObject({
        cursor_path: fieldPath,
        cursor_param: z.string().regex(QUERY_PARAMETER, "must be the name of a query parameter"),
        more_path: fieldPath.optional(),
      })
      .optional(),
    strip_prefix: z.string().min(1).max(64).optional(),
    pricing: pricing.optional(),
  })
  .superRefine((config, context) => {
    const problem = checkUrl(config.list_url, config.local);
    if (problem !== null) context.addIssue({ code: "custom", path: ["list_url"], message: problem });
    const called = config.api === undefined ? null : checkUrl(config.api.base_url, config.local);
    if (called !== null) context.addIssue({ code: "custom", path: ["api", "base_url"], message: called });
  }) satisfies z.ZodType<ProviderDefinition, unknown>;
