// Values that leave this service and come back unread and unchanged: AES-GCM with a key derived from the signing
// secret. Each purpose has its own key, so that a value sealed for one is worth nothing for another.

import { hmac } from "../http/key-format.ts";

type Purpose = "sign-in state" | "key grant";

const NONCE_BYTES = 12;
const MAX_SEALED_CHARS = 4_000;

const keyFor = async (secret: string, purpose: Purpose): Promise<CryptoKey> =>
  crypto.subtle.importKey("raw", await hmac(secret, `sealed: ${purpose}`), "AES-GCM", false, ["encrypt", "decrypt"]);

export const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

const fromBase64url = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));

export const seal = async (secret: string, purpose: Purpose, value: unknown): Promise<string> => {
  const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const text = new TextEncoder().encode(JSON.stringify(value));
  const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, await keyFor(secret, purpose), text);
  return base64url(new Uint8Array([...iv, ...new Uint8Array(sealed)]));
};

/** Null for whatever was not sealed here for this purpose. */
export const unseal = async <T>(secret: string, purpose: Purpose, text: string): Promise<T | null> => {
  if (text.length > MAX_SEALED_CHARS) return null;
  try {
    const bytes = fromBase64url(text);
    const iv = bytes.subarray(0, NONCE_BYTES);
    const key = await keyFor(secret, purpose);
    const opened = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, bytes.subarray(NONCE_BYTES));
    return JSON.parse(new TextDecoder().decode(opened)) as T;
  } catch {
    return null;
  }
};

/** SHA-256 as PKCE sends it (RFC 7636, 4.2). */
export const challengeOf = async (verifier: string): Promise<string> =>
  base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
