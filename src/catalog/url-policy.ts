// Which addresses a sync may fetch, and which hosts may see a provider's key. Checked when a subscription is written
// and at each fetch. Names are checked as the URL parser normalises them (127.1 and 0x7f.1 are 127.0.0.1). What a name
// resolves to is up to the network: private ranges are unreachable on Cloudflare, and self-hosted the runtime's network
// policy refuses them, which also stops DNS rebinding.

import type { ProviderDefinition } from "../../domain/catalog/catalog.ts";
import { IPV4, isMetadataHost } from "./metadata-addresses.ts";

const URL_MAX_CHARACTERS = 2048;

const PRIVATE_SUFFIX = /(^|\.)(localhost|local|internal|intranet|lan|home\.arpa|corp|home)$/;
const ONLY_LOCAL = "only for local providers, or where the operator allows them";

/** What is wrong with an address, or null. `isLocal`: it may be on the operator's own network. */
export const checkUrl = (text: string, isLocal: boolean): string | null => {
  if (text.length > URL_MAX_CHARACTERS) return `must be at most ${URL_MAX_CHARACTERS} characters`;
  if (!URL.canParse(text)) return "must be an absolute URL, such as https://api.example.com/path";
  const url = new URL(text);
  if (url.protocol !== "https:" && !(isLocal && url.protocol === "http:")) {
    return isLocal ? "must begin with http:// or https://" : "must begin with https://";
  }
  if (url.username !== "" || url.password !== "") return "must not contain a user name or password";
  if (url.hash !== "") return "must not contain a fragment";
  return checkHost(url.hostname, isLocal);
};

const checkHost = (hostname: string, isLocal: boolean): string | null => {
  if (hostname.endsWith(".")) return "must have a host name without a dot at its end";
  if (isMetadataHost(hostname)) return "must not be an address where clouds keep their credentials";
  if (isLocal) return null;
  if (IPV4.test(hostname) || hostname.startsWith("[")) return `must have a host name; IP addresses are ${ONLY_LOCAL}`;
  if (PRIVATE_SUFFIX.test(hostname)) return `must have a public host; loopback and private names are ${ONLY_LOCAL}`;
  if (!hostname.includes(".")) return "must have a public host with its full domain";
  return null;
};

/** An IP address or a private name; only a local provider or the operator's vault may have one. */
export const isPrivateAddress = (url: URL): boolean => checkHost(url.hostname, false) !== null;

/** A key host is written as in a URL: lower case, with its port unless that is 80 or 443. */
export const isHostAndPort = (text: string): boolean => {
  if (!/^[a-z0-9.:[\]-]{1,260}$/.test(text)) return false;
  const addresses = [`https://${text}/`, `http://${text}/`];
  return addresses.every((address) => URL.canParse(address) && new URL(address).host === text);
};

/** The hosts that may see this provider's key: exactly list_url's host and key_hosts, including ports. */
export const keyHosts = (provider: Pick<ProviderDefinition, "list_url" | "key_hosts">): string[] => [
  new URL(provider.list_url).host,
  ...(provider.key_hosts ?? []),
];

/** Whether the provider's key and extra headers may be sent to this address; never unencrypted to a host with TLS. */
export const isKeyAddress = (url: URL, provider: Pick<ProviderDefinition, "list_url" | "key_hosts">): boolean => {
  const isSafe = url.protocol === "https:" || new URL(provider.list_url).protocol === "http:";
  return isSafe && keyHosts(provider).includes(url.host);
};

/** An address for logs and errors: without the query, which may contain a key. */
export const withoutQuery = (url: URL): string => `${url.origin}${url.pathname}`;
