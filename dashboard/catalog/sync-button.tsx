// Syncs a subscription now; shows what changed, or why the sync failed.

import { useState } from "preact/hooks";
import type { SubscriptionResource, SyncAnswer } from "../../contract/catalog.ts";
import { api } from "../api.ts";
import { tell, tellError } from "../state/notice.ts";

const saysOf = (provider: string, { changed, added, removed, updated }: SyncAnswer): string =>
  changed ? `${provider}: ${added} added, ${removed} removed, ${updated} changed.` : `${provider}: nothing changed.`;

export const SyncButton = ({
  subscription,
  onDone,
  isShort = false,
}: {
  subscription: SubscriptionResource;
  onDone: () => void;
  isShort?: boolean;
}) => {
  const [isBusy, setBusy] = useState(false);
  const sync = async (): Promise<void> => {
    setBusy(true);
    try {
      tell(saysOf(subscription.provider, await api.catalog.sync(subscription.id)));
    } catch (error) {
      tellError(new Error(`${subscription.provider} was not synced: ${(error as Error).message}`));
    }
    setBusy(false);
    onDone();
  };
  return (
    <button
      type="button"
      class={isShort ? "button small" : "button primary"}
      disabled={isBusy}
      aria-label={`${isBusy ? "Syncing …" : "Sync now"}: ${subscription.provider}`}
      onClick={sync}
    >
      {isBusy ? "Syncing …" : "Sync now"}
    </button>
  );
};
