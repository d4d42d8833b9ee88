// The proxies by which this process reaches other machines: those that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name, as
// other commands understand them. `signalbox` uses them by itself; a program that uses `serve` decides, by Node's switch
// NODE_USE_ENV_PROXY, because what it fetches itself goes the same way.

import { Agent } from "node:https";
import type { Proxies } from "./dispatcher.ts";
import { withoutProxy } from "./no-proxy.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** To a proxy these names are its own machine. */
const THIS_MACHINE = "localhost,127.0.0.0/8,0.0.0.0,::1,::";
const SCHEMES: ReadonlySet<string> = new Set(["http:", "https:"]);

const told = (env: Environment, name: string): string => env[name.toLowerCase()] || env[name] || "";

/** A name and a password that a proxy can be told. */
const isDecodable = ({ username, password }: URL): boolean => {
  try {
    for (const part of [username, password]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
};

/** It may be without a scheme. @throws Error without the value, which may contain a password. */
const proxyOf = (env: Environment, name: string): string => {
  const text = told(env, name);
  if (text === "") return "";
  const url = text.includes("://") ? text : `http://${text}`;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed !== null && SCHEMES.has(parsed.protocol) && isDecodable(parsed)) return url;
  throw new Error(
    `${name} is not the address of an HTTP proxy: use http://host:port, with a % of its password as %25, or unset it`,
  );
};

/** Null if the environment names none. @throws Error if one cannot be used. */
export const proxiesIn = (env: Environment): Proxies | null => {
  const httpProxy = proxyOf(env, "HTTP_PROXY");
  const httpsProxy = proxyOf(env, "HTTPS_PROXY") || httpProxy;
  const isNear = withoutProxy(`${THIS_MACHINE},${told(env, "NO_PROXY")}`);
  // HTTPS_PROXY alone is for TLS alone.
  const isDirect = (url: URL): boolean => isNear(url) || (httpProxy === "" && url.protocol === "http:");
  return httpsProxy === "" ? null : { httpProxy, httpsProxy, isDirect };
};

/** Not told to what this process starts: Node's own rules send a program's calls of its own machine to the proxy. */
let areUsed = process.env.NODE_USE_ENV_PROXY === "1";

/** Of this process. */
export const proxiesInUse = (): Proxies | null => (areUsed ? proxiesIn(process.env) : null);

/** From now on, for all that this process fetches. @throws Error if one cannot be used. */
export const useProxies = async (): Promise<void> => {
  const proxies = proxiesIn(process.env);
  if (proxies === null) return;
  areUsed = true;
  // Loaded only then, because it takes a command a tenth of a second.
  const { dispatchAllBy } = await import("./dispatcher.ts");
  dispatchAllBy(proxies);
};

/**
 * For a socket over TLS; one without goes by no proxy, because few pass it on. Node before 22.21 does not read it: there
 * a worker goes on over plain HTTP.
 */
export const socketAgent = (url: string): Agent | undefined => {
  const proxies = proxiesInUse();
  if (proxies === null || proxies.isDirect(new URL(url))) return undefined;
  return new Agent({ proxyEnv: { HTTPS_PROXY: proxies.httpsProxy } } as ConstructorParameters<typeof Agent>[0]);
};
