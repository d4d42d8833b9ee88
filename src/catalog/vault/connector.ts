// The only place with a provider's key. The connector reads it, adds it to the request and makes the request itself;
// callers get only the answer. The key is sent only to the allowed hosts, redirects are not followed, and nothing that
// is returned, including errors, contains the key or an address with a key.

import { secretForms } from "../../../contract/text/secret-text.ts";
import type { ProviderAuth } from "../../../domain/catalog/catalog.ts";
import { withoutQuery } from "../url-policy.ts";
import { type SecretReading, type SecretSource, secretName } from "./secret-source.ts";

export const SECRET_CACHE_MS = 60_000;
export const MISSING_SECRET_CACHE_MS = 10_000;
export const SECRET_CACHE_MAX_ENTRIES = 256;
/** A shorter key is not searched for in answers, because any text would contain it. */
const TRACEABLE_SECRET_LENGTH = 8;

export type VaultOutcome =
  | { ok: true; response: Response; isKeyed: boolean; holdsKey: (text: string) => boolean }
  | { ok: false; code: VaultFailure; detail: string };

/** Only `secret_unavailable` and `network` are worth another try. */
type VaultFailure = "secret_missing" | "secret_refused" | "secret_unavailable" | "network";

export type VaultConnector = {
  /**
   * If `auth` is null or the host is not allowed, the request is sent without a key. The request's own headers must be
   * safe for any host.
   */
  fetch(request: Request, auth: ProviderAuth | null, allowedHosts: readonly string[]): Promise<VaultOutcome>;
};

/** On the edge create one connector per invocation, because its pending work belongs to the request that began it. */
type VaultOptions = { source: SecretSource; fetch: (request: Request) => Promise<Response>; now: () => number };

export const vaultConnector = (options: VaultOptions): VaultConnector => {
  const read = cachedReader(options.source, options.now);
  return {
    fetch: async (request, auth, allowedHosts) => {
      const url = new URL(request.url);
      if (auth === null || !allowedHosts.includes(url.host)) return send(options.fetch, request, null);
      const name = secretName(auth.ref);
      if (name === null)
        return { ok: false, code: "secret_refused", detail: `${auth.ref} is not of the form provider:<name>` };
      const reading = await read(name);
      if (reading.kind !== "found") return { ok: false, code: `secret_${reading.kind}`, detail: reading.detail };
      if (reading.hosts !== undefined && !reading.hosts.includes(url.host)) {
        return { ok: false, code: "secret_refused", detail: `the vault does not allow this key for ${url.host}` };
      }
      const keyed = withKey(request, url, auth.header, reading.secret);
      if (keyed === null) {
        return {
          ok: false,
          code: "secret_refused",
          detail: `the key of ${auth.ref} contains characters that a header cannot have`,
        };
      }
      return send(options.fetch, keyed, reading.secret);
    },
  };
};

const withKey = (request: Request, url: URL, header: string, secret: string): Request | null => {
  if (!/^[\x21-\x7e]+$/.test(secret)) return null;
  if (header.startsWith("query:")) {
    url.searchParams.set(header.slice("query:".length), secret);
    return new Request(url, request);
  }
  const keyed = new Request(request);
  if (header === "bearer") keyed.headers.set("authorization", `Bearer ${secret}`);
  else keyed.headers.set(header, secret);
  return keyed;
};

const send = async (fetch: VaultOptions["fetch"], request: Request, secret: string | null): Promise<VaultOutcome> => {
  try {
    const response = await fetch(new Request(request, { redirect: "manual", signal: request.signal }));
    return { ok: true, response, isKeyed: secret !== null, holdsKey: tracer(secret ?? "") };
  } catch {
    // The error's message may contain the whole address, including the key.
    const where = withoutQuery(new URL(request.url));
    const what = request.signal.aborted ? "did not answer in time" : "could not be reached";
    return { ok: false, code: "network", detail: `${where} ${what}` };
  }
};

const tracer = (secret: string): ((text: string) => boolean) => {
  if (secret.length < TRACEABLE_SECRET_LENGTH) return () => false;
  const forms = secretForms(secret);
  return (text) => forms.some((form) => text.includes(form));
};

/** Caches what was read briefly, in memory only, and asks the source once for concurrent readers of a name. */
const cachedReader = (source: SecretSource, now: () => number): ((name: string) => Promise<SecretReading>) => {
  const entries = new Map<string, { reading: Promise<SecretReading>; until: number }>();
  return (name) => {
    const kept = entries.get(name);
    if (kept !== undefined && now() < kept.until) return kept.reading;
    const reading = source
      .read(name)
      .catch((): SecretReading => ({ kind: "unavailable", detail: `the vault failed while reading provider:${name}` }));
    const entry = { reading, until: now() + SECRET_CACHE_MS };
    entries.delete(name);
    entries.set(name, entry);
    for (const oldest of entries.keys()) {
      if (entries.size <= SECRET_CACHE_MAX_ENTRIES) break;
      entries.delete(oldest);
    }
    void reading.then((result) => {
      if (result.kind !== "found") entry.until = Math.min(entry.until, now() + MISSING_SECRET_CACHE_MS);
    });
    return reading;
  };
};
