// Endpoints: what a path takes and gives, said once. The same description validates, documents itself in the OpenAPI
// document and mounts the handler, so the three cannot differ.

import type { Hono } from "hono";
import * as z from "zod";
import { refusalOf } from "../../contract/validation.ts";
import type { Permission } from "../../domain/key.ts";
import { invalid, notFound, type RefusalCode, type ResourceKind } from "../../domain/refusal.ts";
import type { Env } from "../env.ts";
import { admit, type Door, slowDown } from "./admission.ts";
import { type AppContext, authenticateCaller, authenticateOperator, type Variables } from "./auth.ts";
import { readJson } from "./body.ts";
import type { Home } from "./home.ts";
import type { TokenFacts } from "./key-format.ts";
import type { Lane } from "./lanes.ts";
import { Refused, unwrap } from "./refused.ts";
import { authorizeFor } from "./tenant.ts";

export type Method = "get" | "post" | "put" | "patch" | "delete";
/** What a caller needs: no key, the operator's root key, or a permission, which the tenant's object checks in the same
 * step as the operation. */
export type Needs = "none" | "root" | Permission;

export interface Description {
  readonly method: Method;
  /** As OpenAPI writes it: `/api/jobs/{id}`. */
  readonly path: string;
  /** The name that generated clients call it by; derived from method and path if it is not given. */
  readonly operationId?: string | undefined;
  readonly summary: string;
  readonly tag: string;
  readonly needs: Needs;
  /** Whose share it takes (`lanes.ts`); by the length of its body if it is not given. */
  readonly lane?: Lane;
  /** Less than what a body may have elsewhere. */
  readonly maxBodyBytes?: number;
  readonly description?: string;
  readonly params?: z.ZodObject;
  /** The path names what need not exist yet: a malformed name is then invalid (400), not unknown (404). */
  readonly isNameNew?: boolean;
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  /** A body that the handler reads itself, because it comes in more than one media type. */
  readonly rawBody?: {
    readonly schema: z.ZodType;
    readonly media: readonly string[];
    /** The call that carries it out asks for the permission, too: no other is made for it alone. */
    readonly isAuthorizedLate?: true;
  };
  /** A body may be left out: it is then read as `{}`. */
  readonly isBodyOptional?: boolean;
  /** The body of its errors, where they are no problem documents. */
  readonly errorSchema?: z.ZodType;
  readonly answers: Readonly<
    Record<number, { readonly description: string; readonly schema?: z.ZodType; readonly media?: readonly string[] }>
  >;
  /** Refusals beside those that every endpoint of its kind may give. */
  readonly refuses?: readonly RefusalCode[];
}

type Parsed<Schema> = Schema extends z.ZodType ? z.infer<Schema> : undefined;

export interface Input<D extends Description> {
  readonly params: Parsed<D["params"]>;
  readonly query: Parsed<D["query"]>;
  readonly body: Parsed<D["body"]>;
  /** The caller's, where the endpoint needs a key of a tenant. */
  readonly token: D["needs"] extends Permission ? TokenFacts : undefined;
}

export interface Endpoint {
  readonly description: Description;
  readonly handle: (c: AppContext) => Promise<Response>;
}

export const endpoint = <const D extends Description>(
  description: D,
  handle: (c: AppContext, input: Input<D>) => Promise<Response> | Response,
): Endpoint => ({
  description,
  handle: (c) =>
    admitted(c, description, async (token) => {
      const { needs } = description;
      if (description.rawBody !== undefined && description.rawBody.isAuthorizedLate !== true)
        await authorize(c, needs, token);
      const input = await readInput(c, description).catch((error) => refuseStrangerFirst(c, needs, token, error));
      try {
        return await handle(c, { ...input, token } as Input<D>);
      } catch (error) {
        // What a handler finds invalid before it asks the object is no stranger's business either.
        const isInvalid = error instanceof Refused && error.refusal.code === "invalid_request";
        return isInvalid ? refuseStrangerFirst(c, needs, token, error) : Promise.reject(error);
      }
    }),
});

const doorOf = ({ lane, maxBodyBytes, body, rawBody, query, needs }: Description): Door => ({
  lane,
  maxBodyBytes,
  isBodiless: body === undefined && rawBody === undefined,
  canWait: query?.shape.wait !== undefined,
  isOperator: needs === "root",
});

/** Authenticates, then takes a share for as long as the answer is being made. */
const admitted = async (
  c: AppContext,
  description: Description,
  answer: (token: TokenFacts | undefined) => Promise<Response>,
): Promise<Response> => {
  const token = await authenticate(c, description.needs).catch(async (error) => {
    await slowDown(c);
    throw error;
  });
  const { underWay, leave } = await admit(c, doorOf(description), token ?? null);
  try {
    return await answer(token === undefined || underWay === null ? token : { ...token, underWay });
  } finally {
    leave();
  }
};

/** What changes something takes no parameter that it does not know: it would be a typo. */
const NO_QUERY = z.strictObject({});

const readInput = async (c: AppContext, description: Description) => {
  refuseIdleIdempotencyKey(c, description);
  return {
    params: parseParams(c, description),
    query: parse(description.query ?? (description.method === "get" ? undefined : NO_QUERY), singleValues(c), "query"),
    body: description.body === undefined ? undefined : parse(description.body, await bodyOf(c, description), "body"),
  };
};

const IDEMPOTENCY_KEY = "idempotency-key";

/** Who sends an idempotency key relies on it: where it would do nothing, the request is refused. */
const refuseIdleIdempotencyKey = (c: AppContext, { headers }: Description): void => {
  if (c.req.header(IDEMPOTENCY_KEY) === undefined || headers?.shape[IDEMPOTENCY_KEY] !== undefined) return;
  const message = "does nothing here, so it is refused: send this request without it";
  throw new Refused(invalid("Idempotency-Key", message));
};

/** By the key's tag alone, before anything of the request is read; the handler's call asks the tenant's object. */
const authenticate = async (c: AppContext, needs: Needs): Promise<TokenFacts | undefined> => {
  if (needs === "root") await authenticateOperator(c);
  if (needs === "none" || needs === "root") return undefined;
  const token = { ...(await authenticateCaller(c)), requestId: c.get("requestId") };
  c.set("caller", token);
  return token;
};

const authorize = async (c: AppContext, needs: Needs, token: TokenFacts | undefined): Promise<void> => {
  if (needs === "none" || needs === "root" || token === undefined) return;
  unwrap(await authorizeFor(c.env, token, needs));
};

/** Who may not ask at all hears that, not what is wrong with the request. */
const refuseStrangerFirst = async (
  c: AppContext,
  needs: Needs,
  token: TokenFacts | undefined,
  error: unknown,
): Promise<never> => {
  await authorize(c, needs, token);
  throw error;
};

/** An id that is none names nothing: 404, as for any other that is unknown. */
const parseParams = (c: AppContext, { params, path, isNameNew }: Description): unknown => {
  const given = c.req.param();
  const parsed = params?.safeParse(given);
  if (parsed === undefined || parsed.success || isNameNew === true) return parse(params, given, "path");
  throw new Refused(notFound(resourceOf(path), Object.values(given)[0] ?? ""));
};

/** `/api/jobs/{id}/cancel` is about a job. */
const resourceOf = (path: string): ResourceKind => {
  const plural = path.split("/{")[0]?.split("/").at(-1) ?? "";
  return plural.slice(0, -1) as ResourceKind;
};

const bodyOf = async (c: AppContext, description: Description): Promise<unknown> => {
  const body = await readJson(c.req.raw, description.maxBodyBytes);
  if (body !== undefined) return body;
  if (description.isBodyOptional === true) return {};
  throw new Refused(invalid("", "a JSON body is required"));
};

/** A parameter given twice is refused: which one counts would be a guess. */
const singleValues = (c: AppContext): Record<string, string> =>
  Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => {
      if (values.length > 1) throw new Refused(invalid(name, "is given more than once"));
      return [name, values[0] ?? ""];
    }),
  );

const parse = (schema: z.ZodType | undefined, given: unknown, where: string): unknown => {
  if (schema === undefined) return undefined;
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new Refused(refusalOf(schema, parsed.error, given, where));
};

export const passOn = (c: AppContext, home: Home): Promise<Response> => {
  c.set("isPassedOn", true);
  return home.passOn(c);
};

/** A stranger is refused here, as there: no other process needs to hear of it. */
const passOnOr =
  ({ description, handle }: Endpoint) =>
  async (c: AppContext): Promise<Response> => {
    const { HOME: home } = c.env;
    if (home === undefined) return handle(c);
    return admitted(c, description, () => passOn(c, home));
  };

/**
 * Mounts every endpoint, and for each path an answer to the methods that it does not take. One that is not portable is
 * answered only where all bindings are.
 */
export const mount = (
  app: Hono<{ Bindings: Env; Variables: Variables }>,
  endpoints: readonly Endpoint[],
  isPortable: (endpoint: Endpoint) => boolean,
): void => {
  const methodsByPath = new Map<string, string[]>();
  for (const one of endpoints) {
    const { description, handle } = one;
    const path = description.path.replaceAll(/\{(\w+)\}/g, ":$1");
    const handleOrPassOn = isPortable(one) ? handle : passOnOr(one);
    app.on(description.method.toUpperCase(), path, handleOrPassOn);
    methodsByPath.set(path, [...(methodsByPath.get(path) ?? []), description.method.toUpperCase()]);
  }
  for (const [path, methods] of methodsByPath) {
    const allow = methods.includes("GET") ? [...methods, "HEAD"] : methods;
    app.all(path, () => {
      throw new Refused({ code: "method_not_allowed", allow });
    });
  }
};
