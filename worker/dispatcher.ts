// What sends this process's requests: directly, or by proxies.

import { Agent, type Dispatcher, EnvHttpProxyAgent, setGlobalDispatcher } from "undici";

/** By what to reach other machines; an empty text: by nothing. */
export interface Proxies {
  readonly httpProxy: string;
  readonly httpsProxy: string;
  /** The hosts that are reached directly. */
  readonly noProxy: string;
}

/** A request without TLS is passed on as one, because few proxies let a tunnel lead to another port than 443. */
export const newDispatcher = (proxies: Proxies | null, options: Agent.Options = {}): Dispatcher =>
  proxies === null ? new Agent(options) : new EnvHttpProxyAgent({ ...options, ...proxies, proxyTunnel: false });

/** For `fetch` itself. */
export const dispatchAllBy = (proxies: Proxies): void => setGlobalDispatcher(newDispatcher(proxies));
