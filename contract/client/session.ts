// The dashboard's session.

import type { SessionAnswer } from "../access/session.ts";
import type { CallOptions, Transport } from "./transport.ts";

/** The dashboard's cookie; `get` also returns the client's own key. */
export const sessionVerbs = (transport: Transport) => ({
  signIn: (key: string, options?: CallOptions) =>
    transport.json<SessionAnswer>({ method: "POST", path: "/session", body: { key }, options }),
  get: (options?: CallOptions) => transport.json<SessionAnswer>({ method: "GET", path: "/session", options }),
  signOut: (options?: CallOptions) => transport.nothing({ method: "DELETE", path: "/session", options }),
});
