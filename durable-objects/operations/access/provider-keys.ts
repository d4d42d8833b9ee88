// The tenant's own keys of providers, sealed before they come here. The audit log says which provider's key was set or
// removed, and who did it.

import type { ProviderKeyResource } from "../../../contract/access/provider-key.ts";
import { toIso } from "../../../contract/words/field.ts";
import { invalid, notFound, type Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import type { Turn } from "../../turn/turn.ts";
import { askEdge } from "../fleet/edge-workers.ts";

export const MAX_PROVIDER_KEYS = 200;

export const putProviderKey = (
  turn: Turn,
  { provider, sealed }: { provider: string; sealed: string },
): Result<null, Refusal> => {
  const { providerKeys } = turn.store;
  const isNew = providerKeys.find(provider) === null;
  if (isNew && providerKeys.all().length >= MAX_PROVIDER_KEYS)
    return err(invalid("provider", `a tenant has keys for at most ${MAX_PROVIDER_KEYS} providers: remove one first`));
  providerKeys.put({ provider, sealed, setAt: turn.nowAt, setBy: turn.caller.name });
  turn.audit("provider_key.set", provider);
  askAgain(turn, provider);
  return ok(null);
};

export const listProviderKeys = (turn: Turn): Result<ProviderKeyResource[], Refusal> =>
  ok(
    turn.store.providerKeys.all().map(({ provider, setAt, setBy }) => ({
      provider,
      source: "tenant" as const,
      set_at: toIso(setAt),
      set_by: setBy,
    })),
  );

export const removeProviderKey = (turn: Turn, { provider }: { provider: string }): Result<null, Refusal> => {
  if (turn.store.providerKeys.find(provider) === null) return err(notFound("provider", provider));
  turn.store.providerKeys.remove(provider);
  turn.audit("provider_key.removed", provider);
  askAgain(turn, provider);
  return ok(null);
};

/** Whether the provider can be called may be otherwise now. */
const askAgain = (turn: Turn, provider: string): void => {
  if (turn.memory.config.providers.get(provider)?.edge != null) askEdge(turn, provider);
};
