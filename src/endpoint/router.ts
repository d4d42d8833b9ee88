// Endpoints: an endpoint's description validates requests, documents itself in the OpenAPI document and mounts the
// handler, so the three cannot differ.

import type { HonoBase } from "hono/hono-base";
import * as z from "zod";
import { MAX_BODY_BYTES } from "../../contract/words/field.ts";
import { readAs } from "../../contract/words/validation.ts";
import { entryOf } from "../../contract/words/values.ts";
import type { Permission } from "../../domain/access/key.ts";
import type { WriteKind } from "../../domain/killswitch.ts";
import { invalid, notFound, type Refusal, type RefusalCode, type ResourceKind } from "../../domain/words/refusal.ts";
import type { Result } from "../../domain/words/result.ts";
import type { Env } from "../env.ts";
import type { Home, Lane } from "../home.ts";
import { type Admitted, admit, type Door, slowDown } from "../http/admission.ts";
import { releaseAfter } from "../http/answer-end.ts";
import {
  type AppContext,
  authenticateCaller,
  authenticateOperator,
  knownCaller,
  type Variables,
} from "../http/auth.ts";
import { readJson, refusePackedBody } from "../http/body.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { authorizeFor, callTenant } from "../tenant/tenant.ts";

export type Method = "get" | "post" | "put" | "patch" | "delete";
/**
 * The key that a caller needs: none, the operator's root key, or one with a permission, which the tenant's object
 * checks in the transaction of the operation.
 */
export type Needs = "none" | "root" | Permission;

export interface Answer {
  readonly description: string;
  readonly schema?: z.ZodType;
  readonly media?: readonly string[];
  /** What each header says; that of idempotency and `Retry-After` are added where they belong. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Description {
  readonly method: Method;
  /** As OpenAPI writes it: `/api/jobs/{id}`. */
  readonly path: string;
  /** The method name in generated clients; by default derived from method and path. */
  readonly operationId?: string | undefined;
  readonly summary: string;
  readonly tag: string;
  readonly needs: Needs;
  /** The lane whose share it takes (`lanes.ts`); by default chosen by the body's length. */
  readonly lane?: Lane;
  /** The kind of write with which a key that may operate adds data: its tenant is asked before a large body is read. */
  readonly grows?: WriteKind;
  /** It opens a stream of the job in its path (`admission.ts`). */
  readonly readsJob?: true;
  /** It answers with bytes that an object stores (`admission.ts`). */
  readonly readsFile?: true;
  /** A lower size limit than usual. */
  readonly maxBodyBytes?: number;
  readonly description?: string;
  readonly params?: z.ZodObject;
  /** The path names something that may not exist yet: a malformed name is then invalid (400), not unknown (404). */
  readonly isNameNew?: boolean;
  readonly query?: z.ZodObject;
  /** Query parameters, known or not, are ignored. */
  readonly takesAnyQuery?: true;
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  /** A body that the handler reads itself, because it has more than one media type. */
  readonly rawBody?: {
    readonly schema: z.ZodType;
    readonly media: readonly string[];
    /** The fields of a form, for the document. */
    readonly form?: z.ZodType;
    /** The operation itself checks the permission, so no separate call is needed. */
    readonly isAuthorizedLate?: true;
    /** It is never held whole, so it takes no share of the bytes that may be held. */
    readonly isStreamed?: true;
  };
  /** A missing body is read as `{}`. */
  readonly isBodyOptional?: boolean;
  /** The schema of its errors, if they are not problem documents. */
  readonly errorSchema?: z.ZodType;
  /** By status; `4XX`: any other of its kind. */
  readonly answers: Readonly<Record<number | `${number}XX`, Answer>>;
  /** Refusals beyond those that every endpoint of its kind can give. */
  readonly refuses?: readonly RefusalCode[];
}

type Parsed<Schema> = Schema extends z.ZodType ? z.infer<Schema> : undefined;

export interface Input<D extends Description> {
  readonly params: Parsed<D["params"]>;
  readonly query: Parsed<D["query"]>;
  readonly body: Parsed<D["body"]>;
  /** The caller's token, if the endpoint needs a tenant's key. */
  readonly token: D["needs"] extends Permission ? TokenFacts : undefined;
}

export interface Endpoint {
  readonly description: Description;
  readonly handle: (c: AppContext) => Promise<Response>;
}

/** What goes around a handler, whatever it handles. */
export type Envelope = (
  handle: (c: AppContext) => Promise<Response> | Response,
) => (c: AppContext) => Promise<Response>;

export const endpoint = <const D extends Description>(
  description: D,
  handle: (c: AppContext, input: Input<D>) => Promise<Response> | Response,
): Endpoint => {
  const answer = (c: AppContext, input: unknown) => handle(c, input as Input<D>);
  return {
    description,
    handle: description.needs === "none" ? forAnyone(description, answer) : forKeys(description, answer),
  };
};

type Handle = (c: AppContext, input: unknown) => Promise<Response> | Response;

/** What a handler may find before it has asked the tenant's object, which decides on the caller. */
const ABOUT_THE_REQUEST: ReadonlySet<string> = new Set(["invalid_request", "unsupported_media_type", "not_found"]);

/** Without a key only a request that has arrived takes a share: its body is small, and late ones are ended. */
const forAnyone = (description: Description, handle: Handle): Endpoint["handle"] => {
  const door = doorOf(description);
  return async (c) => {
    const input = await readInput(c, description, undefined);
    return await underShare(c, await admit(c, door, null), handle, input);
  };
};

const forKeys = (description: Description, handle: Handle): Endpoint["handle"] => {
  const { needs, rawBody } = description;
  const isAuthorizedFirst = rawBody !== undefined && rawBody.isAuthorizedLate !== true && rawBody.isStreamed !== true;
  return admitted(description, async (c, token) => {
    if (isAuthorizedFirst) await authorize(c, needs, token);
    let input: unknown;
    try {
      const reading = readInput(c, description, token);
      input = reading instanceof Promise ? await reading : reading;
    } catch (error) {
      return refuseStrangerFirst(c, needs, token, error);
    }
    try {
      return await handle(c, input);
    } catch (error) {
      // A caller without permission must not learn what a handler found wrong with the request.
      const isAboutRequest = error instanceof Refused && ABOUT_THE_REQUEST.has(error.refusal.code);
      return isAboutRequest ? refuseStrangerFirst(c, needs, token, error) : Promise.reject(error);
    }
  });
};

const doorOf = ({ lane, readsJob, readsFile, maxBodyBytes, body, rawBody, query, needs }: Description): Door => ({
  lane,
  readsJob,
  readsFile,
  maxBodyBytes,
  isUpload: rawBody?.isStreamed,
  isBodiless: body === undefined && (rawBody === undefined || rawBody.isStreamed === true),
  canWait: query?.shape.wait !== undefined,
  isOperator: needs === "root",
});

/** Authenticates, then takes a share until the answer has ended. */
const admitted = (
  description: Description,
  answer: (c: AppContext, token: TokenFacts | undefined) => Promise<Response>,
): ((c: AppContext) => Promise<Response>) => {
  const door = doorOf(description);
  return async (c) => {
    const token = await authenticate(c, description.needs);
    const admitting = admit(c, door, token ?? null);
    const taken = admitting instanceof Promise ? await admitting : admitting;
    if (token !== undefined && taken.underWay !== null) token.underWay = taken.underWay;
    return await underShare(c, taken, answer, token);
  };
};

const underShare = async <T>(
  c: AppContext,
  { share, endTurn }: Admitted,
  answer: (c: AppContext, given: T) => Promise<Response> | Response,
  given: T,
): Promise<Response> => {
  c.set("share", share);
  try {
    return releaseAfter(c, await answer(c, given), share);
  } catch (error) {
    share.release();
    throw error;
  } finally {
    endTurn();
  }
};

/** Unknown query parameters are refused, because they would be typos; a page that needs no key ignores what monitors add. */
const NO_QUERY = z.strictObject({});

/** At once, unless the body is still to come. */
const readInput = (c: AppContext, description: Description, token: TokenFacts | undefined): object => {
  refuseIdleIdempotencyKey(c, description);
  if (description.body !== undefined || description.rawBody !== undefined) refusePackedBody(c);
  const head = {
    token,
    query: description.takesAnyQuery === true ? undefined : readQuery(c, description),
    params: parseParams(c, description),
  };
  if (description.body === undefined) return head;
  const withBody = (body: unknown): object => ({ ...head, body: parseBody(description, body) });
  const body = bodyOf(c, description, token);
  return body instanceof Promise ? body.then(withBody) : withBody(body);
};

/** What a schema reads of an address without a query, as most are: the same each time. */
const ofNoQuery = new WeakMap<z.ZodType, Result<unknown, Refusal>>();

const readQuery = (c: AppContext, { query, method, needs }: Description): unknown => {
  const schema = query ?? (method === "get" && needs === "none" ? undefined : NO_QUERY);
  if (schema === undefined || c.req.url.includes("?")) return parse(schema, singleValues(c), "query");
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

/** Checks only the key's tag, before the request is read; the handler's call checks the key in the tenant's object. */
const authenticate = async (c: AppContext, needs: Needs): Promise<TokenFacts | undefined> => {
  if (needs === "none") return undefined;
  try {
    if (needs === "root") return void (await authenticateOperator(c, (token) => authorize(c, "consult", token)));
    const token = { ...(knownCaller(c) ?? (await authenticateCaller(c))), requestId: c.get("requestId") };
    c.set("caller", token);
    return token;
  } catch (error) {
    await slowDown(c);
    throw error;
  }
};

const authorize = async (c: AppContext, needs: Needs, token: TokenFacts | undefined): Promise<void> => {
  if (needs === "none" || needs === "root" || token === undefined) return;
  unwrap(await authorizeFor(c.env, token, needs));
};

/** A caller without permission learns only that, not what is wrong with the request. */
const refuseStrangerFirst = async (
  c: AppContext,
  needs: Needs,
  token: TokenFacts | undefined,
  error: unknown,
): Promise<never> => {
  await authorize(c, needs, token);
  throw error;
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

/** What a path's name is of, where it is no plural in s alone. */
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
  unwrap(await callTenant(c.env, token, "mayGrow", { kind }));
};

const parseBody = ({ body: schema, isBodyOptional }: Description, body: unknown): unknown => {
  if (body === undefined && isBodyOptional !== true) throw new Refused(invalid("", "a JSON body is required"));
  return parse(schema, body === undefined ? {} : body, "body");
};

/** A repeated parameter is refused, because its meaning would be a guess. */
const singleValues = (c: AppContext): Record<string, string> =>
  Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => {
      if (values.length > 1) throw new Refused(invalid(name, "is given more than once"));
      return [name, values[0] ?? ""];
    }),
  );

const parse = (schema: z.ZodType | undefined, given: unknown, where: string): unknown => {
  if (schema === undefined) return undefined;
  return unwrap(readAs(schema, given, where));
};

export const passOn = (c: AppContext, home: Home): Promise<Response> => {
  c.set("isPassedOn", true);
  return home.passOn(c);
};

/** Callers without a valid key are refused here, so the other process is not called. */
const passOnOr = ({ description, handle }: Endpoint): Endpoint["handle"] => {
  const handleOver = admitted(description, (c) => passOn(c, c.env.HOME as Home));
  return (c) => (c.env.HOME === undefined ? handle(c) : handleOver(c));
};

/**
 * Mounts every endpoint, and 405 for the other methods of each path. An endpoint that is not portable is passed on if
 * bindings are missing.
 */
export const mount = (
  app: HonoBase<{ Bindings: Env; Variables: Variables }>,
  endpoints: readonly Endpoint[],
  isPortable: (endpoint: Endpoint) => boolean,
  inEnvelope: Envelope,
): void => {
  const methodsByPath = new Map<string, string[]>();
  for (const one of endpoints) {
    const { description, handle } = one;
    const path = description.path.replaceAll(/\{(\w+)\}/g, ":$1");
    const handleOrPassOn = isPortable(one) ? handle : passOnOr(one);
    app.on(description.method.toUpperCase(), path, inEnvelope(handleOrPassOn));
    methodsByPath.set(path, [...(methodsByPath.get(path) ?? []), description.method.toUpperCase()]);
  }
  for (const [path, methods] of methodsByPath) {
    const allow = methods.includes("GET") ? [...methods, "HEAD"] : methods;
    const refuse = (): never => {
      throw new Refused({ code: "method_not_allowed", allow });
    };
    app.all(path, inEnvelope(refuse));
  }
};
