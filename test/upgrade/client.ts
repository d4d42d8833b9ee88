// Calls to a server with one key; the fixture's reads are paths.

import { type Answer, type Body, send, succeed } from "../support/requests.ts";

export interface Client {
  readonly key: string;
  readonly call: (method: string, route: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;
  /** The body of an answer that must be a success. */
  readonly get: (route: string) => Promise<Body>;
  readonly post: (route: string, body?: unknown) => Promise<Body>;
}

export const clientOf = (url: string, key: string): Client => {
  const at = { url, key };
  return {
    key,
    call: (method, route, body, headers = {}) => send(at, method, route, body, { headers }),
    get: (route) => succeed(at, "GET", route),
    post: (route, body = {}) => succeed(at, "POST", route, body),
  };
};
