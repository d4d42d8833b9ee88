/**
 * Where the worker gets a provider's key from. A key is read right before each call, used only in that call, and never
 * logged, stored or put into an error. The environment is the only source here.
 */
export type ProviderKeys = {
  /** The key for a reference such as `provider:openai`, or null if there is none. */
  resolve: (ref: string) => Promise<string | null>;
};

const REF = /^provider:([a-z0-9][a-z0-9_.-]{0,63})$/;

export const environmentKeys = (env: Readonly<Record<string, string | undefined>>): ProviderKeys => ({
  resolve: async (ref) => {
    const name = REF.exec(ref)?.[1];
    return name === undefined ? null : env[keyVariable(name)]?.trim() || null;
  },
});

/** `github-models` → `PROVIDER_GITHUB_MODELS_KEY`. */
export const keyVariable = (provider: string): string =>
  `PROVIDER_${provider.toUpperCase().replace(/[^A-Z0-9]/g, "_")}_KEY`;
