// What a provider's status means for a sync. Providers differ: a bad key is 400 at Gemini and xAI, and 429 or 402 may
// mean that the account has no credit.

import { retryAfterMs } from "../../contract/text/retry-after.ts";
import type { ProviderDefinition } from "../../domain/catalog/catalog.ts";
import { DAY_MS } from "../../domain/words/duration.ts";

const RETRY_AFTER_MAX_MS = DAY_MS;

/** What is wrong, or null for an answer to read. */
export const explainStatus = (
  status: number,
  provider: Pick<ProviderDefinition, "provider" | "auth">,
  isKeyed: boolean,
): { detail: string; isRetryable: boolean } | null => {
  if (status >= 200 && status < 300) return null;
  const said = `the provider answered ${status}`;
  if (status === 0 || (status >= 300 && status < 400)) {
    return {
      detail: `${said}: redirects are not followed; set models_sync_url to the final address`,
      isRetryable: false,
    };
  }
  if (status === 400 || status === 401 || status === 403) {
    return { detail: `${said}: ${aboutKey(provider, isKeyed)}`, isRetryable: false };
  }
  if (status === 402) return { detail: `${said}: the account has no credit`, isRetryable: false };
  if (status === 404)
    return {
      detail: `${said}: there is no model list at this address: set models_sync_url to the list's`,
      isRetryable: false,
    };
  if (status === 429) return { detail: `${said}: too many requests, or the account has no credit`, isRetryable: true };
  return { detail: said, isRetryable: status >= 500 || status === 408 || status === 425 };
};

const aboutKey = (provider: Pick<ProviderDefinition, "provider" | "auth">, isKeyed: boolean): string => {
  if (isKeyed) return `it may not accept the key of ${provider.auth?.ref}`;
  if (provider.auth === undefined) return `the file of ${provider.provider} names no key for it`;
  return "no key was sent, because there is none or the provider file does not list this host in key_hosts";
};

/** What a provider asks for, or 0. */
export const askedWaitMs = (headers: Headers): number =>
  Math.min(RETRY_AFTER_MAX_MS, Math.ceil(retryAfterMs(headers.get("retry-after"), Date.now()) ?? 0));
