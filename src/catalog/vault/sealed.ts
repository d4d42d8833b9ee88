// Seals what only this deployment may read again: AES-GCM under a key derived from the signing secret. The sealed text
// is bound to what it is for, so that it opens nowhere else.

const FORMAT = "v1";
const IV_BYTES = 12;
const PURPOSE = "signalbox provider keys";

const keyFrom = async (secret: string): Promise<CryptoKey> => {
  const encoder = new TextEncoder();
  const base = await crypto.subtle.importKey("raw", encoder.encode(secret), "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encoder.encode(PURPOSE) };
  return crypto.subtle.deriveKey(derivation, base, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
};

const cipherOf = (iv: Uint8Array, use: string) => ({
  name: "AES-GCM",
  iv: iv as BufferSource,
  additionalData: new TextEncoder().encode(use) as BufferSource,
});

const toText = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
const toBytes = (text: string): Uint8Array => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));

/** `use` names what it is for, e.g. tenant and provider. */
export const seal = async (secret: string, use: string, text: string): Promise<string> => {
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const sealed = await crypto.subtle.encrypt(cipherOf(iv, use), await keyFrom(secret), new TextEncoder().encode(text));
  return [FORMAT, toText(iv), toText(new Uint8Array(sealed))].join(".");
};

/** null if it was sealed with another secret, or for another use. */
export const unseal = async (secret: string, use: string, sealed: string): Promise<string | null> => {
  const [format, iv = "", bytes = ""] = sealed.split(".");
  if (format !== FORMAT) return null;
  try {
    const opened = await crypto.subtle.decrypt(
      cipherOf(toBytes(iv), use),
      await keyFrom(secret),
      toBytes(bytes) as BufferSource,
    );
    return new TextDecoder().decode(opened);
  } catch {
    return null;
  }
};

/** What a tenant's key of a provider is sealed for. */
export const useOf = (tenant: string, provider: string): string => `${tenant} ${provider}`;
