// Where provider keys are kept: one interface, three kinds (environment, Cloudflare Secrets Store, Vault or OpenBao).
// Only the vault connector reads a source. Failures say what to change and never repeat what was read.

export type SecretReading =
  /** `hosts`, if the vault has them, restricts where the key may be sent. */
  | { kind: "found"; secret: string; hosts?: readonly string[] }
  | { kind: "missing"; detail: string }
  /** The vault refused, or its answer is invalid: trying again will not help. */
  | { kind: "refused"; detail: string }
  /** The vault is down, sealed or overloaded: worth another try. */
  | { kind: "unavailable"; detail: string };

export type SecretSource = { read(name: string): Promise<SecretReading> };

/** `provider:together-ai` → `together-ai`, or null for a ref that no source understands. */
export const secretName = (ref: string): string | null =>
  /^provider:([a-z0-9][a-z0-9_-]{0,63})$/.exec(ref)?.[1] ?? null;

/** `together-ai` → `PROVIDER_TOGETHER_AI_KEY`, the name of its variable or binding. */
export const variableName = (name: string): string => `PROVIDER_${name.toUpperCase().replace(/[^A-Z0-9]/g, "_")}_KEY`;
