// Where provider keys are kept: one interface, three kinds (environment, Cloudflare Secrets Store, Vault or OpenBao).
// A source is asked by the vault connector alone. Its failures say what to change and never repeat what they read.

export type SecretReading =
  /** `hosts`, where the vault keeps them beside the key, narrows where the key may go. */
  | { kind: "found"; secret: string; hosts?: readonly string[] }
  | { kind: "missing"; detail: string }
  /** The vault refused, or its answer makes no sense: trying again alone will not help. */
  | { kind: "refused"; detail: string }
  /** The vault is away, sealed or overloaded: worth another try. */
  | { kind: "unavailable"; detail: string };

export type SecretSource = { read(name: string): Promise<SecretReading> };

/** `provider:together-ai` → `together-ai`, or null for a ref that no source understands. */
export function secretName(ref: string): string | null {
  return /^provider:([a-z0-9][a-z0-9_-]{0,63})$/.exec(ref)?.[1] ?? null;
}

/** `together-ai` → `PROVIDER_TOGETHER_AI_KEY`, the name of its variable or binding. */
export function variableName(name: string): string {
  return `PROVIDER_${name.toUpperCase().replace(/[^A-Z0-9]/g, "_")}_KEY`;
}
