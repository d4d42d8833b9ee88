// Endpoints: an endpoint's description validates requests (`read-input.ts`), documents itself in the OpenAPI document and
// mounts the handler, so the three cannot differ.

import type { HonoBase } from "hono/hono-base";
import type * as z from "zod";
import type { Permission } from "../../domain/access/key.ts";
import type { Env } from "../env.ts";
import type { Home } from "../home.ts";
import { type Admitted, admit, type Door } from "../http/admission.ts";
import { releaseAfter } from "../http/answer-end.ts";
import type { AppContext, Variables } from "../http/auth.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { Refused } from "../http/refused.ts";
import { authenticate, authorize, refuseStrangerFirst } from "./caller.ts";
import type { Description } from "./description.ts";
import { readInput } from "./read-input.ts";

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
