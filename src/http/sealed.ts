// Seals what only this deployment may read again: AES-GCM under a key derived from the signing secret, another one for
// each purpose. The sealed text is also bound to its use, so that it opens nowhere else.

import { base64, fromBase64 } from "../../contract/text/base64.ts";

const FORMAT = "v1";
const IV_BYTES = 12;

export interface SealedFor {
  readonly purpose: "provider keys" | "sign-in" | "grant";
  /** E.g. the tenant and the provider, where a purpose has many. */
  readonly use?: string;
}

const keyFrom = async (secret: string, purpose: string): Promise<CryptoKey> => {
  const encoder = new TextEncoder();
  const base = await crypto.subtle.importKey("raw", encoder.encode(secret), "HKDF", false, ["deriveKey"]);
  const info = encoder.encode(`signalbox ${purpose}`);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info };
  return crypto.subtle.deriveKey(derivation, base, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
};

const cipherOf = (iv: Uint8Array, use = "") => ({
  name: "AES-GCM",
  iv: iv as BufferSource,
  additionalData: new TextEncoder().encode(use) as BufferSource,
});

export const seal = async (secret: string, { purpose, use }: SealedFor, text: string): Promise<string> => {
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const key = await keyFrom(secret, purpose);
  const sealed = await crypto.subtle.encrypt(cipherOf(iv, use), key, new TextEncoder().encode(text));
  return [FORMAT, base64(iv), base64(new Uint8Array(sealed))].join(".");
};

/** null if it was sealed with another secret, or for something else. */
export const unseal = async (secret: string, { purpose, use }: SealedFor, sealed: string): Promise<string | null> => {
  const [format, iv = "", bytes = ""] = sealed.split(".");
  if (format !== FORMAT) return null;
  try {
    const key = await keyFrom(secret, purpose);
    const opened = await crypto.subtle.decrypt(cipherOf(fromBase64(iv), use), key, fromBase64(bytes));
    return new TextDecoder().decode(opened);
  } catch {
    return null;
  }
};

/** What a tenant's key of a provider is sealed for. */
export const forProviderKey = (tenant: string, provider: string): SealedFor => ({
  purpose: "provider keys",
  use: `${tenant} ${provider}`,
});
