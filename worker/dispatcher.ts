// What sends this process's requests: directly, or by proxies.

import { Agent, type Dispatcher, EnvHttpProxyAgent, setGlobalDispatcher } from "undici";

/** By what to reach other machines; an empty text: by nothing. */
export interface Proxies {
  readonly httpProxy: string;
  readonly httpsProxy: string;
  /** Addresses that are reached without. */
  readonly isDirect: (url: URL) => boolean;
}

/** A request without TLS is passed on as one, because few proxies let a tunnel lead to another port than 443. */
export const newDispatcher = (proxies: Proxies | null, options: Agent.Options = {}): Dispatcher => {
  const direct = new Agent(options);
  if (proxies === null) return direct;
  const { isDirect, ...named } = proxies;
  const proxied = new EnvHttpProxyAgent({ ...options, ...named, noProxy: "", proxyTunnel: false });
  return proxied.compose(
    (byProxy) => (asked, handler) =>
      isDirect(new URL(asked.origin ?? "")) ? direct.dispatch(asked, handler) : byProxy(asked, handler),
  );
};

/** For `fetch` itself. */
export const dispatchAllBy = (proxies: Proxies): void => setGlobalDispatcher(newDispatcher(proxies));
