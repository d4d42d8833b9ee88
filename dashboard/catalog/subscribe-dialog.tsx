// Subscribing to a provider, or changing when and from where a subscription syncs.

import { useState } from "preact/hooks";
import type { ProviderResource, SubscriptionResource } from "../../contract/catalog.ts";
import { api } from "../api.ts";
import { Confirm } from "../parts/dialog.tsx";
import { SelectField, TextField } from "../parts/form.tsx";
import { sendChanges } from "../parts/send-changes.ts";
import { useDraft } from "../state/drafts.ts";
import { tell } from "../state/notice.ts";

interface SubscribeProps {
  providers: readonly ProviderResource[];
  subscription: SubscriptionResource | null;
  onDone: () => void;
  onClose: () => void;
}

interface Wish {
  readonly schedule: string;
  readonly url: string;
}

const bodyOf = ({ schedule, url }: Wish) => ({
  models_sync_schedule: schedule.trim() || null,
  models_sync_url: url.trim() || null,
});

export const SubscribeDialog = ({ providers, subscription, onDone, onClose }: SubscribeProps) => {
  const [provider, setProvider] = useState(subscription?.provider ?? providers[0]?.provider ?? "");
  const [wish, setWish, began] = useDraft(`subscription ${subscription?.provider ?? ""}`, {
    schedule: subscription?.models_sync_schedule ?? "",
    url: subscription?.models_sync_url ?? "",
  });
  const chosen = providers.find((one) => one.provider === provider);
  const save = async (): Promise<void> => {
    if (subscription === null) await api.catalog.subscribe({ provider, ...bodyOf(wish) });
    else await sendChanges(bodyOf(began), bodyOf(wish), (changes) => api.catalog.edit(subscription.id, changes));
    tell(subscription === null ? `Subscribed to ${provider}.` : "Subscription changed.");
    onDone();
  };
  return (
    <Confirm
      title={subscription === null ? "Subscribe to a provider" : `Subscription to ${provider}`}
      action={subscription === null ? "Subscribe" : "Save"}
      onConfirm={save}
      onClose={onClose}
    >
      {subscription === null && (
        <SelectField
          label="Provider"
          value={provider}
          onInput={setProvider}
          options={providers.map((one) => [one.provider, one.provider] as const)}
        />
      )}
      <TextField
        label="Sync schedule"
        hint="Five-field cron in UTC; empty for the default."
        isCode
        value={wish.schedule}
        onInput={(schedule) => setWish((was) => ({ ...was, schedule }))}
        placeholder="0 */6 * * *"
      />
      <TextField
        label="List address"
        hint={`Empty for the provider's own${chosen === undefined ? "" : ` (${chosen.list_url})`}. Another host is fetched without a key.`}
        type="url"
        value={wish.url}
        onInput={(url) => setWish((was) => ({ ...was, url }))}
      />
    </Confirm>
  );
};
