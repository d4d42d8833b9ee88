// The dialogs of webhooks: create, edit, rotate the secret, delete.

import type { WebhookResource, WebhookWithSecret } from "../../contract/webhook.ts";
import { WEBHOOK_EVENTS, type WebhookEvent } from "../../contract/words/values.ts";
import { api } from "../api.ts";
import { splitTags } from "../format.ts";
import { Confirm } from "../parts/dialog.tsx";
import { Check, TextField } from "../parts/form.tsx";
import { sendChanges } from "../parts/send-changes.ts";
import { useDraft } from "../state/drafts.ts";
import { tell } from "../state/notice.ts";

interface Wish {
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly tags: string;
  readonly description: string;
}

const EMPTY: Wish = { url: "", events: ["job.failed"], tags: "", description: "" };

const wishOf = (webhook: WebhookResource): Wish => ({
  url: webhook.url,
  events: webhook.events,
  tags: webhook.tags.join(", "),
  description: webhook.description ?? "",
});

const bodyOf = (wish: Wish) => ({
  url: wish.url.trim(),
  events: [...wish.events],
  tags: splitTags(wish.tags),
  description: wish.description.trim() || null,
});

/** Creates a webhook, or edits the given one. */
export const WebhookDialog = ({
  webhook,
  onMade,
  onDone,
  onClose,
}: {
  webhook: WebhookResource | null;
  onMade: (made: WebhookWithSecret) => void;
  onDone: () => void;
  onClose: () => void;
}) => {
  const [wish, setWish, began] = useDraft<Wish>(
    `webhook ${webhook?.id ?? ""}`,
    webhook === null ? EMPTY : wishOf(webhook),
  );
  const change = (changes: Partial<Wish>) => setWish((was) => ({ ...was, ...changes }));
  const toggle = (event: WebhookEvent, isOn: boolean): void =>
    change({ events: WEBHOOK_EVENTS.filter((one) => (one === event ? isOn : wish.events.includes(one))) });
  const save = async (): Promise<void> => {
    if (webhook === null) onMade(await api.webhooks.create(bodyOf(wish)));
    else {
      await sendChanges(bodyOf(began), bodyOf(wish), (changes) => api.webhooks.edit(webhook.id, changes));
      tell("Webhook changed.");
    }
    onDone();
  };
  return (
    <Confirm
      title={webhook === null ? "New webhook" : "Edit the webhook"}
      action={webhook === null ? "Create" : "Save"}
      isReady={wish.url.trim() !== "" && wish.events.length > 0}
      onConfirm={save}
      onClose={onClose}
    >
      <TextField
        label="Address"
        type="url"
        value={wish.url}
        onInput={(url) => change({ url })}
        placeholder="https://"
        hint="A public https address; redirects are not followed."
        isRequired
        autoFocus
      />
      <fieldset class="event-choice">
        <legend>Events</legend>
        {WEBHOOK_EVENTS.map((event) => (
          <Check
            key={event}
            label={event}
            value={wish.events.includes(event)}
            onInput={(isOn) => toggle(event, isOn)}
          />
        ))}
      </fieldset>
      <TextField
        label="Tags"
        hint="Only jobs that have all of these; empty for every job."
        value={wish.tags}
        onInput={(tags) => change({ tags })}
      />
      <TextField label="Description" value={wish.description} onInput={(description) => change({ description })} />
    </Confirm>
  );
};

export const RotateWebhookDialog = ({
  webhook,
  onMade,
  onClose,
}: {
  webhook: WebhookResource;
  onMade: (made: WebhookWithSecret) => void;
  onClose: () => void;
}) => (
  <Confirm
    title="Rotate the secret?"
    action="Rotate"
    isDestructive
    onConfirm={async () => onMade(await api.webhooks.rotate(webhook.id))}
    onClose={onClose}
  >
    <p>Both secrets sign for 24 hours, so that {webhook.url} can change without losing an event.</p>
  </Confirm>
);

export const RemoveWebhookDialog = ({
  webhook,
  onDone,
  onClose,
}: {
  webhook: WebhookResource;
  onDone: () => void;
  onClose: () => void;
}) => (
  <Confirm
    title="Delete the webhook?"
    action="Delete"
    isDestructive
    onConfirm={async () => {
      await api.webhooks.remove(webhook.id);
      tell("Webhook deleted.");
      onDone();
    }}
    onClose={onClose}
  >
    <p>{webhook.url} is told nothing more, and its deliveries are forgotten.</p>
  </Confirm>
);
