// What sends this process's requests: directly, or by proxies.

import { Agent, type Dispatcher, ProxyAgent, setGlobalDispatcher } from "undici";

/** By what to reach other machines. */
export interface Proxies {
  /** Empty: none, and every address without TLS is direct. */
  readonly httpProxy: string;
  readonly httpsProxy: string;
  /** Addresses that are reached without. */
  readonly isDirect: (url: URL) => boolean;
}

/** undici itself sends no name without a password. */
const credentialsIn = (proxy: string): { token?: string } => {
  const { username, password } = new URL(proxy);
  if (username === "") return {};
  const told = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { token: `Basic ${Buffer.from(told).toString("base64")}` };
};

/** A request without TLS is passed on as one, because few proxies let a tunnel lead to another port than 443. */
export const newDispatcher = (proxies: Proxies | null, options: Agent.Options = {}): Dispatcher => {
  const direct = new Agent(options);
  if (proxies === null) return direct;
  const { isDirect, httpProxy, httpsProxy } = proxies;
  const through = (proxy: string): Dispatcher =>
    new ProxyAgent({ ...options, ...credentialsIn(proxy), uri: proxy, proxyTunnel: false });
  const [forPlain, forTls] = [httpProxy === "" ? direct : through(httpProxy), through(httpsProxy)];
  return direct.compose((dispatch) => (asked, handler) => {
    const url = new URL(asked.origin ?? "");
    if (isDirect(url)) return dispatch(asked, handler);
    return (url.protocol === "https:" ? forTls : forPlain).dispatch(asked, handler);
  });
};

/** For `fetch` itself. */
export const dispatchAllBy = (proxies: Proxies): void => setGlobalDispatcher(newDispatcher(proxies));
