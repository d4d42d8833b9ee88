// Which addresses a sync may fetch, and which hosts may see a provider's key. Checked when a subscription is written
// and again at each fetch. Names are judged as the URL parser normalises them (127.1 and 0x7f.1 are 127.0.0.1); what
// a name resolves to is the network's to judge: private ranges are out of reach on Cloudflare, and self-hosted the
// runtime's own network policy refuses them, which also stops DNS rebinding.

import type { ProviderDefinition } from "../../domain/catalog.ts";
import { isMetadataHost } from "./metadata-addresses.ts";

export const URL_MAX_CHARACTERS = 2048;

const PRIVATE_SUFFIX = /(^|\.)(localhost|local|internal|intranet|lan|home\.arpa|corp|home)$/;
const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;

/** What is wrong with an operator's list_url, or null. */
export function checkListUrl(text: string, isLocal: boolean): string | null {
  return checkUrl(text, isLocal);
}

/** What is wrong with a tenant's models_sync_url, or null. The provider's file says whether it is a local runtime. */
export function checkSyncUrl(text: string, provider: Pick<ProviderDefinition, "local">): string | null {
  return checkUrl(text, provider.local);
}

function checkUrl(text: string, isLocal: boolean): string | null {
  if (text.length > URL_MAX_CHARACTERS) return `must be at most ${URL_MAX_CHARACTERS} characters`;
  if (!URL.canParse(text)) return "must be an absolute URL, such as https://models.example.com/v1/models";
  const url = new URL(text);
  if (url.protocol !== "https:" && !(isLocal && url.protocol === "http:")) {
    return isLocal ? "must begin with http:// or https://" : "must begin with https://";
  }
  if (url.username !== "" || url.password !== "") return "must hold no user name or password";
  if (url.hash !== "") return "must hold no fragment";
  return checkHost(url.hostname, isLocal);
}

function checkHost(hostname: string, isLocal: boolean): string | null {
  if (hostname.endsWith(".")) return "must name a host without a dot at its end";
  if (isMetadataHost(hostname)) return "must not be an address at which clouds give out credentials";
  if (isLocal) return null;
  if (IPV4.test(hostname) || hostname.startsWith("[")) return "must name a host; an IP address is for local providers";
  if (PRIVATE_SUFFIX.test(hostname))
    return "must name a public host; loopback and private names are for local providers";
  if (!hostname.includes(".")) return "must name a public host with its domain";
  return null;
}

/** An IP address or a name of a private network: what only a local provider, or the operator's vault, may be at. */
export function isPrivateAddress(url: URL): boolean {
  return checkHost(url.hostname, false) !== null;
}

/** A key host is written as a URL shows it: lower case, its port only where it is neither 80 nor 443. */
export function isHostAndPort(text: string): boolean {
  if (!/^[a-z0-9.:[\]-]{1,260}$/.test(text)) return false;
  const addresses = [`https://${text}/`, `http://${text}/`];
  return addresses.every((address) => URL.canParse(address) && new URL(address).host === text);
}

/** The hosts that may see this provider's key: list_url's own and key_hosts, exactly, ports included. */
export function keyHosts(provider: Pick<ProviderDefinition, "list_url" | "key_hosts">): string[] {
  return [new URL(provider.list_url).host, ...(provider.key_hosts ?? [])];
}

/** Whether the provider's key and extra headers may go to this address: never in the clear to a host that has TLS. */
export function isKeyAddress(url: URL, provider: Pick<ProviderDefinition, "list_url" | "key_hosts">): boolean {
  const isSafe = url.protocol === "https:" || new URL(provider.list_url).protocol === "http:";
  return isSafe && keyHosts(provider).includes(url.host);
}

/** An address fit for logs and errors: no query, because a key may stand in it. */
export function withoutQuery(url: URL): string {
  return `${url.origin}${url.pathname}`;
}
