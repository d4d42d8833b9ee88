// A request, read as its endpoint describes it: path, query and body, each checked by its schema.

import * as z from "zod";
import { MAX_BODY_BYTES } from "../../contract/words/field.ts";
import { readAs } from "../../contract/words/validation.ts";
import { entryOf } from "../../contract/words/values.ts";
import { invalid, notFound, type Refusal, type ResourceKind } from "../../domain/words/refusal.ts";
import type { Result } from "../../domain/words/result.ts";
import type { AppContext } from "../http/auth.ts";
import { readJson, refusePackedBody } from "../http/body.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { ask } from "../tenant/ask.ts";
import { authorize } from "./caller.ts";
import type { Description } from "./description.ts";

/**
 * Unknown query parameters are refused, because they would be typos; a page that needs no key ignores what monitors
 * add.
 */
const NO_QUERY = z.strictObject({});

/** At once, unless the body is still to come. */
export const readInput = (c: AppContext, description: Description, token: TokenFacts | undefined): object => {
  refuseIdleIdempotencyKey(c, description);
  const { body: schema } = description;
  if (schema !== undefined || description.rawBody !== undefined) refusePackedBody(c);
  const head = {
    token,
    query: description.takesAnyQuery === true ? undefined : readQuery(c, description),
    params: parseParams(c, description),
  };
  if (schema === undefined) return head;
  const withBody = (body: unknown): object => ({ ...head, body: parseBody(schema, description, body) });
  const body = bodyOf(c, description, token);
  return body instanceof Promise ? body.then(withBody) : withBody(body);
};

/** What a schema reads of an address without a query, as most are: the same each time. */
const ofNoQuery = new WeakMap<z.ZodType, Result<unknown, Refusal>>();

const readQuery = (c: AppContext, { query, method, needs }: Description): unknown => {
  const schema = query ?? (method === "get" && needs === "none" ? undefined : NO_QUERY);
  if (schema === undefined) return undefined;
  if (c.req.url.includes("?")) return parse(schema, singleValues(c, schema), "query");
  const known = ofNoQuery.get(schema) ?? readAs(schema, {}, "query");
  ofNoQuery.set(schema, known);
  return unwrap(known);
};

const IDEMPOTENCY_KEY = "idempotency-key";

/** A caller that sends an idempotency key relies on it, so an endpoint that ignores it must refuse it. */
const refuseIdleIdempotencyKey = (c: AppContext, { headers }: Description): void => {
  if (headers?.shape[IDEMPOTENCY_KEY] !== undefined || c.req.header(IDEMPOTENCY_KEY) === undefined) return;
  const message = "has no effect on this endpoint: send this request without it";
  throw new Refused(invalid("Idempotency-Key", message));
};

/** A malformed id cannot exist: 404, as for any unknown id. */
const parseParams = (c: AppContext, { params, path, isNameNew }: Description): unknown => {
  if (params === undefined) return undefined;
  const given = c.req.param();
  if (isNameNew === true) return parse(params, given, "path");
  const parsed = params.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new Refused(notFound(resourceOf(path), Object.values(given)[0] ?? ""));
};

/** The kind of resource that a path's name stands for, where that is not the name without its last s. */
const KINDS: Readonly<Record<string, ResourceKind>> = {
  archive: "archived day",
  auth: "tenant",
  batches: "batch",
  deliveries: "delivery",
  "model-tasks": "model task",
  people: "person",
  "provider-keys": "provider",
};

/** `/api/jobs/{id}/cancel` belongs to a job. */
const resourceOf = (path: string): ResourceKind => {
  const plural = path.split("/{")[0]?.split("/").at(-1) ?? "";
  return entryOf(KINDS, plural) ?? (plural.slice(0, -1) as ResourceKind);
};

/** A small body without a key comes with its head, or soon. */
const STRANGER_BODY_MS = 5_000;

const bodyOf = (c: AppContext, description: Description, token: TokenFacts | undefined): unknown => {
  const { maxBodyBytes: limitBytes = MAX_BODY_BYTES, needs } = description;
  const deadlineMs = needs === "none" ? STRANGER_BODY_MS : undefined;
  return readJson(c, { limitBytes, deadlineMs, mayBeLarge: () => mayBeLarge(c, description, token) });
};

/** Before much of a body is read: the key, its limits, and whether the tenant could take what it asks for. */
const mayBeLarge = async (
  c: AppContext,
  { needs, grows: kind }: Description,
  token: TokenFacts | undefined,
): Promise<void> => {
  // A repeated request gets its first answer, whatever has happened since.
  const isRepeatable = c.req.header(IDEMPOTENCY_KEY) !== undefined;
  if (kind === undefined || token === undefined || isRepeatable) return authorize(c, needs, token);
  await ask(c, token, "mayGrow", { kind });
};

const parseBody = (schema: z.ZodType, { isBodyOptional }: Description, body: unknown): unknown => {
  if (body === undefined && isBodyOptional !== true) throw new Refused(invalid("", "a JSON body is required"));
  return parse(schema, body === undefined ? {} : body, "body");
};

/** A repeated parameter is refused, because its meaning would be a guess, unless the endpoint does not look at it. */
const singleValues = (c: AppContext, { shape, def }: z.ZodObject): Record<string, string> =>
  Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => {
      if (values.length > 1 && (name in shape || def.catchall !== undefined))
        throw new Refused(invalid(name, "is given more than once"));
      return [name, values[0] ?? ""];
    }),
  );

const parse = (schema: z.ZodType, given: unknown, where: string): unknown => unwrap(readAs(schema, given, where));
