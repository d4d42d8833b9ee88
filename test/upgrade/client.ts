// Calls to a server with one key; the fixture's reads are paths.

import { type Answer, type Body, send, succeed } from "../support/requests.ts";

export interface Client {
  readonly key: string;
  readonly call: (method: string, route: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;
  /** The body of an answer that must be a success. */
  readonly get: (route: string) => Promise<Body>;
  readonly post: (route: string, body?: unknown) => Promise<Body>;
  /** For what is no JSON. */
  readonly send: (method: string, route: string, bytes?: Uint8Array) => Promise<Response>;
}

export const configure = async (admin: Client, config: object): Promise<void> => {
  const answer = await admin.call("PUT", "/config", config);
  if (answer.status !== 200) throw new Error(`the config was refused: ${JSON.stringify(answer.body)}`);
};

export const clientOf = (url: string, key: string): Client => {
  const at = { url, key };
  return {
    key,
    call: (method, route, body, headers = {}) => send(at, method, route, body, { headers }),
    get: (route) => succeed(at, "GET", route),
    post: (route, body = {}) => succeed(at, "POST", route, body),
    send: (method, route, bytes) =>
      fetch(url + route, { method, headers: { authorization: `Bearer ${key}` }, body: bytes ?? null }),
  };
};
