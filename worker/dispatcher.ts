// What sends this process's requests: directly, or by proxies.

import { Agent, type Dispatcher, EnvHttpProxyAgent, setGlobalDispatcher } from "undici";

type ProxyOptions = Required<Pick<EnvHttpProxyAgent.Options, "httpProxy" | "httpsProxy" | "noProxy">>;

/** A request without TLS is passed on as one, because few proxies let a tunnel lead to another port than 443. */
export const newDispatcher = (proxies: ProxyOptions | null, options: Agent.Options = {}): Dispatcher =>
  proxies === null ? new Agent(options) : new EnvHttpProxyAgent({ ...options, ...proxies, proxyTunnel: false });

/** For `fetch` itself. */
export const dispatchAllBy = (proxies: ProxyOptions): void => setGlobalDispatcher(newDispatcher(proxies));
