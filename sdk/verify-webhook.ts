// Webhooks by Standard Webhooks 1.0.0: `<id>.<timestamp>.<body>` signed with HMAC-SHA256. Compared with the platform's
// `verify`, whose timing does not reveal how much of a signature was right.

import { fromBase64 } from "../contract/text/base64.ts";
import { WEBHOOK_SECRET_PREFIX } from "../contract/words/values.ts";

export interface WebhookEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export class WebhookRefused extends Error {
  override readonly name = "WebhookRefused";
}

export interface VerifyOptions {
  /** Largest allowed difference to the sender's clock, in seconds; default 300. An older delivery could be a replay. */
  readonly toleranceSeconds?: number;
  /** Epoch ms. */
  readonly now?: number;
}

type HeaderBag = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

const SIGNATURE_PREFIX = "v1,";
const DEFAULT_TOLERANCE_SECONDS = 300;

const isHeaders = (headers: HeaderBag): headers is Headers => typeof (headers as Headers).get === "function";

const headerOf = (headers: HeaderBag, name: string): string => {
  if (isHeaders(headers)) return headers.get(name) ?? "";
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === "string" ? found : (found?.[0] ?? "");
};

/** Null if it is no base64. */
const bytesOf = (text: string): Uint8Array<ArrayBuffer> | null => {
  try {
    return fromBase64(text);
  } catch {
    return null;
  }
};

const isFresh = (
  timestamp: string,
  { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = Date.now() }: VerifyOptions,
) => /^\d{1,12}$/.test(timestamp) && Math.abs(now / 1000 - Number(timestamp)) <= toleranceSeconds;

/**
 * Returns the event of a delivery whose signature is valid. `payload` is the raw body, before any parser; give several
 * secrets while one replaces another. @throws WebhookRefused
 */
export const verifyWebhook = async (
  payload: string | Uint8Array,
  headers: HeaderBag,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<WebhookEvent> => {
  const id = headerOf(headers, "webhook-id");
  const timestamp = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature");
  if (id === "" || timestamp === "" || signatures === "") {
    throw new WebhookRefused("webhook-id, webhook-timestamp or webhook-signature is missing");
  }
  if (!isFresh(timestamp, options)) throw new WebhookRefused("webhook-timestamp is too far from this clock");
  const body = typeof payload === "string" ? payload : new TextDecoder().decode(payload);
  const signed = Uint8Array.from(new TextEncoder().encode(`${id}.${timestamp}.${body}`));
  for (const one of typeof secret === "string" ? [secret] : secret) {
    if (await isSigned(one, signed, signatures)) return JSON.parse(body) as WebhookEvent;
  }
  throw new WebhookRefused("webhook-signature does not match the body and the secret");
};

const isSigned = async (secret: string, signed: Uint8Array<ArrayBuffer>, signatures: string): Promise<boolean> => {
  const raw = bytesOf(secret.startsWith(WEBHOOK_SECRET_PREFIX) ? secret.slice(WEBHOOK_SECRET_PREFIX.length) : secret);
  if (raw === null || raw.length === 0)
    throw new WebhookRefused(`the secret must be ${WEBHOOK_SECRET_PREFIX} followed by base64`);
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  for (const signature of signatures.split(" ")) {
    const given = signature.startsWith(SIGNATURE_PREFIX) ? bytesOf(signature.slice(SIGNATURE_PREFIX.length)) : null;
    if (given !== null && (await crypto.subtle.verify("HMAC", key, given, signed))) return true;
  }
  return false;
};
