// The network of signing in: discovery, tokens and key sets are fetched by the rules of webhooks' addresses, without
// redirects, within limits on time and size.

import { readBody } from "../catalog/bounded-body.ts";
import { checkUrl, isPrivateAddress, withoutQuery } from "../catalog/url-policy.ts";
import type { Env } from "../env.ts";
import { isSelfHosted } from "../tenant/tenant-object.ts";
import { IdentityError } from "./identity-error.ts";

const MAX_ANSWER_BYTES = 512 * 1024;
const ANSWER_MS = 10_000;

/** The operator of this machine allows private addresses and plain http. */
export const isPrivateAllowed = (env: Env): boolean => env.SERVICE_SIGN_IN_PRIVATE === "1" && isSelfHosted(env);

export type IdentityFetch = (url: string, init?: RequestInit) => Promise<Response>;

export const identityFetch = (env: Env): IdentityFetch => {
  const isPrivate = isPrivateAllowed(env);
  const network = isPrivate ? env.LOCAL_NETWORK : undefined;
  return async (url, init = {}) => {
    const wrong = checkUrl(url, isPrivate);
    if (wrong !== null) throw new IdentityError(`the address ${url.slice(0, 200)} ${wrong}`);
    const address = withoutQuery(new URL(url));
    const signal = AbortSignal.timeout(ANSWER_MS);
    const request = { ...init, redirect: "manual" as const, signal };
    const isNear = network !== undefined && isPrivateAddress(new URL(url));
    const response = await (isNear ? network.fetch(url, request) : fetch(url, request)).catch(() => {
      throw new IdentityError(`${address} does not answer`, true);
    });
    if (response.status >= 300 && response.status < 400) throw new IdentityError(`${address} redirects`, true);
    if (response.status >= 500) throw new IdentityError(`${address} answers ${response.status}`, true);
    const body = await readBody(response, MAX_ANSWER_BYTES, signal);
    if (!body.ok) throw new IdentityError(`${address}: ${body.reason}`, true);
    const headers = new Headers({ "content-type": response.headers.get("content-type") ?? "" });
    return new Response(body.text === "" ? null : body.text, { status: response.status, headers });
  };
};
