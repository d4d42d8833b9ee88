// Who is calling, as far as the edge can check: a bearer key or the dashboard's cookie, by its tag. The tenant's object
// decides everything else, in the transaction of the operation.

import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import { publicOriginOf } from "../../contract/text/public-origin.ts";
import { AUTHENTICATION_FAILED } from "../../domain/access/key.ts";
import type { Refusal, RefusalCode } from "../../domain/words/refusal.ts";
import type { Env } from "../env.ts";
import { digestOf, read, type TokenFacts } from "./key-format.ts";
import { Refused } from "./refused.ts";
import type { Share } from "./shares.ts";
import { isUpgrade } from "./upgrade.ts";

/** What the edge knows about a request. */
export interface Variables {
  requestId: string;
  /** Set once the token's tag has been checked; only the object knows whether the key is active. */
  caller?: TokenFacts;
  refusalCode?: RefusalCode;
  /** What it has taken of fair shares. */
  share?: Share;
  /** Whether its answer is written over time, and not as server-sent events. */
  isWrittenOverTime?: boolean;
  /** Whether another process answers it. */
  isPassedOn?: boolean;
  /** The status that the home has sent itself. */
  sentStatus?: number;
}

export type AppContext = Context<{ Bindings: Env; Variables: Variables }>;

/**
 * Over https browsers bind the first to this host; over plain http they store only the second. A port is part of the
 * name, because a browser sends a cookie to every port of its host: two services of one machine keep apart.
 */
export const sessionCookies = (c: AppContext): readonly [bound: string, plain: string] => {
  const { port } = new URL(c.req.url);
  const plain = port === "" ? "signalbox" : `signalbox-${port}`;
  return [`__Host-${plain}`, plain];
};
/** Any of these in a request's `cookie`, with its token. */
export const SESSION_COOKIES = /(?:^|;\s*)(?:__Host-)?signalbox(?:-\d+)?=([^;]+)/g;

export const MAX_CHECKED_TOKENS = 1000;
const checkedTokens = new Map<string, TokenFacts>();

export const signingSecret = (env: Env): string => {
  const secret = env.SERVICE_SIGNING_SECRET ?? "";
  if (secret === "") throw new Error("SERVICE_SIGNING_SECRET is not set: set it with `wrangler secret put`");
  return secret;
};

/** A token's facts. A tag never changes, so recent checks are cached. */
const factsOf = async (env: Env, token: string): Promise<TokenFacts | null> => {
  const known = checkedTokens.get(token);
  if (known !== undefined) return known;
  const { SERVICE_SIGNING_SECRET_ALSO: also } = env;
  const facts = (await read(signingSecret(env), token)) ?? (also ? await read(also, token) : null);
  if (facts === null) return null;
  if (checkedTokens.size >= MAX_CHECKED_TOKENS) checkedTokens.clear();
  checkedTokens.set(token, facts);
  return facts;
};

/** Whether a caller brought it a while ago, and its tag was right. */
export const isCheckedToken = (token: string): boolean => checkedTokens.has(token);

const BEARER = /^Bearer +([\x21-\x7e]+)$/i;
/** For a proxy in front: a browser sends its password along with the dashboard's cookie. */
const OF_A_PROXY = /^(basic|digest|negotiate) /i;

/** The key in these headers: null for none, empty for what cannot be one. */
export const keyIn = (authorization: string | undefined, apiKey: string | undefined): string | null =>
  authorization === undefined || OF_A_PROXY.test(authorization)
    ? (apiKey ?? null)
    : (BEARER.exec(authorization)?.[1] ?? "");

const bearerOf = (c: AppContext): string | null => {
  const key = keyIn(c.req.header("authorization"), c.req.header("x-api-key"));
  if (key === "") throw new Refused(AUTHENTICATION_FAILED);
  return key;
};

/** The caller whose key's tag was checked lately, as most are: nothing is waited for. Null for any other. */
export const knownCaller = (c: AppContext): TokenFacts | null => {
  const bearer = bearerOf(c);
  const facts = bearer === null ? undefined : checkedTokens.get(bearer);
  return facts?.kind === "key" ? facts : null;
};

/** The caller's token; throws a refusal with 401. */
export const authenticateCaller = async (c: AppContext): Promise<TokenFacts> => {
  const bearer = bearerOf(c);
  if (bearer === null) return authenticateSession(c);
  const facts = await factsOf(c.env, bearer);
  if (facts?.kind === "key") return facts;
  throw new Refused(await refusalOfStranger(c, bearer));
};

/** For a token that is no tenant's. */
export const refusalOfStranger = async (
  c: AppContext,
  token: string,
  unknown: Refusal = AUTHENTICATION_FAILED,
): Promise<Refusal> => ((await isRootKey(c, token)) ? ROOT_KEY_MISPLACED : unknown);

const ROOT_KEY_MISPLACED: Refusal = {
  code: "authentication_failed",
  detail: "this is the operator's root key, which only manages tenants: send a key of the tenant",
};

/** Compared by digest, so the time taken reveals nothing. */
const isRootKey = async (c: AppContext, bearer: string): Promise<boolean> => {
  const rootKey = c.env.SERVICE_ROOT_KEY ?? "";
  if (rootKey === "") return false;
  const [given, expected] = await Promise.all([digestOf(bearer), digestOf(rootKey)]);
  return given === expected;
};

/** A browser keeps a `__Host-` cookie only over https; the address that people use decides, so the first proxy's. */
export const isHttps = (c: AppContext): boolean =>
  new URL(c.req.url).protocol === "https:" ||
  c.req.header("x-forwarded-proto")?.split(",")[0] === "https" ||
  (c.env.SERVICE_PUBLIC_URL ?? "").startsWith("https://");

/** Over https a neighbouring host can set the plain cookie, but not the bound one. */
const cookieOf = (c: AppContext): string | undefined => getCookie(c, sessionCookies(c)[isHttps(c) ? 0 : 1]);

/** The session of the request's cookie, if the cookie is valid. */
export const sessionOf = async (c: AppContext): Promise<TokenFacts | null> => {
  const cookie = cookieOf(c);
  const facts = cookie === undefined ? null : await factsOf(c.env, cookie);
  return facts?.kind === "session" ? facts : null;
};

const authenticateSession = async (c: AppContext): Promise<TokenFacts> => {
  if (cookieOf(c) === undefined) throw new Refused(AUTHENTICATION_FAILED);
  refuseForeignOrigin(c);
  const facts = await sessionOf(c);
  if (facts === null) throw new Refused(AUTHENTICATION_FAILED);
  return facts;
};

/**
 * Browsers send cookies automatically, so a request that changes something or opens a socket must come from the
 * dashboard's own page (CSRF).
 */
export const refuseForeignOrigin = (c: AppContext): void => {
  const isSocket = isUpgrade(c.req);
  const isRead = c.req.method === "GET" || c.req.method === "HEAD";
  if (isRead && !isSocket) return;
  const origin = c.req.header("origin");
  const site = c.req.header("sec-fetch-site");
  const isOwn =
    origin === undefined ? !isSocket && (site === undefined || site === "same-origin") : isOwnOrigin(c, origin);
  if (!isOwn)
    throw new Refused({
      code: "forbidden",
      detail:
        "a session cookie works only on the dashboard's own pages (a proxy must pass their Host on): send a bearer key instead",
    });
};

/** Compares hosts: a proxy that ends TLS changes the scheme. If it hides the host, the operator's address counts. */
const isOwnOrigin = (c: AppContext, origin: string): boolean => {
  const host = c.req.header("host") ?? new URL(c.req.url).host;
  return origin === publicOriginOf(c.env) || (URL.canParse(origin) && new URL(origin).host === host);
};

/** Whether the request bears the root key. Anything else about the caller is left to its authentication. */
export const isFromOperator = async (c: AppContext): Promise<boolean> => {
  const bearer = bearerOf(c);
  return bearer !== null && (await isRootKey(c, bearer));
};

/** Throws a refusal unless the caller has the operator's root key. `check` throws for a tenant's key that has ended. */
export const authenticateOperator = async (
  c: AppContext,
  check: (token: TokenFacts) => Promise<void>,
): Promise<void> => {
  const bearer = bearerOf(c);
  if (bearer === null) throw new Refused(AUTHENTICATION_FAILED);
  if (await isRootKey(c, bearer)) return;
  const facts = await factsOf(c.env, bearer);
  if (facts?.kind !== "key") throw new Refused(AUTHENTICATION_FAILED);
  await check(facts);
  throw new Refused({ code: "forbidden", detail: "this endpoint needs the operator's root key" });
};
