// The dashboard's session.

import type { SessionAnswer } from "../access/session.ts";
import type { CallOptions, Transport } from "./transport.ts";

/** The dashboard's cookie; `get` also returns the client's own key. */
export const sessionVerbs = (transport: Transport) => ({
  signIn: (key: string, options?: CallOptions) => transport.post<SessionAnswer>("/session", { key }, options, "safe"),
  get: (options?: CallOptions) => transport.get<SessionAnswer>("/session", options),
  signOut: (options?: CallOptions) => transport.remove("/session", options),
});
