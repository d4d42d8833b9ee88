// The catalog and webhooks.

import type { SubscriptionResource } from "../../contract/catalog.ts";
import type { NewWebhookRequest, WebhookResource } from "../../contract/webhook.ts";
import type { Column } from "../output.ts";
import type { Context, Verb } from "../verb.ts";

const ID = { name: "id", says: "the subscription's id" } as const;

const showSubscription = ({ output }: Context, one: SubscriptionResource): void =>
  output.record(one, [
    ["id", one.id],
    ["provider", one.provider],
    ["schedule", one.models_sync_schedule],
    ["url", one.models_sync_url],
    ["models", one.model_count],
    ["synced", one.models_synced_at],
    ["next", one.next_sync_at],
    ["error", one.last_error],
  ]);

const catalog: readonly Verb[] = [
  {
    name: "catalog providers",
    says: "Lists the providers that can be subscribed to",
    run: async ({ client, output, signal }) => {
      const found = await client().catalog.providers({ signal });
      output.table(found, found.providers, [
        { title: "provider", of: ({ provider }) => provider },
        { title: "local", of: ({ local }) => (local ? "yes" : "") },
        { title: "list", of: ({ list_url }) => list_url },
      ]);
    },
  },
  {
    name: "catalog subscriptions",
    says: "Lists the subscriptions to model lists",
    run: async ({ client, output, signal }) => {
      const found = await client().catalog.subscriptions({ signal });
      output.table(found, found.subscriptions, [
        { title: "id", of: ({ id }) => id },
        { title: "provider", of: ({ provider }) => provider },
        { title: "models", of: ({ model_count }) => model_count },
        { title: "synced", of: ({ models_synced_at }) => models_synced_at },
        { title: "error", of: ({ last_error }) => last_error },
      ]);
    },
  },
  {
    name: "catalog subscribe",
    says: "Subscribes to a provider's model list",
    args: [{ name: "provider", says: "the provider's name" }],
    flags: {
      cron: { takes: "fields", says: "when to sync: five cron fields in UTC" },
      url: { takes: "address", says: "the list's address, if not the provider's own" },
    },
    run: async (context, input) => {
      const wanted = {
        provider: input.arg("provider"),
        models_sync_schedule: input.text("cron") ?? null,
        models_sync_url: input.text("url") ?? null,
      };
      showSubscription(context, await context.client().catalog.subscribe(wanted, { signal: context.signal }));
    },
  },
  {
    name: "catalog unsubscribe",
    says: "Deletes a subscription with its models and history",
    args: [ID],
    run: async ({ client, output, signal }, input) => {
      await client().catalog.unsubscribe(input.arg("id"), { signal });
      output.say(`Subscription ${input.arg("id")} is deleted.`);
    },
  },
  {
    name: "catalog models",
    says: "Lists the models of the last successful sync",
    args: [ID],
    run: async ({ client, output, signal }, input) => {
      const found = await client().catalog.models(input.arg("id"), { signal });
      output.table(found, found.models, [
        { title: "model", of: ({ id }) => id },
        { title: "context", of: ({ context_window }) => context_window },
        { title: "name", of: ({ name }) => name },
      ]);
    },
  },
  {
    name: "catalog history",
    says: "Lists the changes of a model list, newest first",
    args: [ID],
    run: async ({ client, output, signal }, input) => {
      const found = await client().catalog.history(input.arg("id"), {}, { signal });
      output.table(found, found.history, [
        { title: "at", of: ({ at }) => at },
        { title: "change", of: ({ kind }) => kind },
        { title: "model", of: ({ model_id }) => model_id },
      ]);
    },
  },
  {
    name: "catalog sync",
    says: "Syncs a subscription now",
    args: [ID],
    run: async ({ client, output, signal }, input) => {
      const found = await client().catalog.sync(input.arg("id"), { signal });
      output.record(found, [
        ["added", found.added],
        ["removed", found.removed],
        ["updated", found.updated],
        ["synced", found.models_synced_at],
      ]);
    },
  },
];

const HOOK = { name: "id", says: "the webhook's id" } as const;

const HOOK_COLUMNS: readonly Column<WebhookResource>[] = [
  { title: "id", of: ({ id }) => id },
  { title: "enabled", of: ({ enabled }) => (enabled ? "yes" : "no") },
  { title: "events", of: ({ events }) => events },
  { title: "url", of: ({ url }) => url },
];

const showWebhook = ({ output }: Context, one: WebhookResource): void =>
  output.record(one, [
    ["id", one.id],
    ["url", one.url],
    ["events", one.events],
    ["tags", one.tags],
    ["enabled", one.enabled ? "yes" : `no: ${one.disabled_reason}`],
    ["failing since", one.failing_since],
  ]);

const webhooks: readonly Verb[] = [
  {
    name: "webhooks list",
    says: "Lists all webhooks",
    run: async ({ client, output, signal }) => {
      const found = await client().webhooks.list({ signal });
      output.table(found, found.webhooks, HOOK_COLUMNS);
    },
  },
  {
    name: "webhooks get",
    says: "Shows a webhook",
    args: [HOOK],
    run: async (context, input) =>
      showWebhook(context, await context.client().webhooks.get(input.arg("id"), { signal: context.signal })),
  },
  {
    name: "webhooks create",
    says: "Creates a webhook; its secret is shown only once",
    args: [{ name: "url", says: "an https address" }],
    flags: {
      event: { takes: "name", says: "such as job.failed", isRepeated: true },
      tag: { takes: "tag", says: "only jobs with this tag", isRepeated: true },
      description: { takes: "words", says: "a note for people" },
    },
    run: async ({ client, output, signal }, input) => {
      // The service checks the names of the events.
      const wanted = {
        url: input.arg("url"),
        events: [...input.texts("event")],
        ...(input.texts("tag").length === 0 ? {} : { tags: [...input.texts("tag")] }),
        ...input.given("description"),
      } as NewWebhookRequest;
      const made = await client().webhooks.create(wanted, { signal });
      output.say(`Webhook ${made.id}. Its secret is shown only once:`);
      output.value(made, made.secret);
    },
  },
  {
    name: "webhooks enable",
    says: "Enables a disabled webhook",
    args: [HOOK],
    run: async (context, input) => {
      const { webhooks } = context.client();
      showWebhook(context, await webhooks.edit(input.arg("id"), { enabled: true }, { signal: context.signal }));
    },
  },
  {
    name: "webhooks rotate",
    says: "Replaces a webhook's secret; the old one also signs for 24 hours",
    args: [HOOK],
    run: async ({ client, output, signal }, input) => {
      const made = await client().webhooks.rotate(input.arg("id"), { signal });
      output.value(made, made.secret);
    },
  },
  {
    name: "webhooks test",
    says: "Sends a test event",
    args: [HOOK],
    run: async ({ client, output, signal }, input) => {
      const sent = await client().webhooks.test(input.arg("id"), { signal });
      output.value(sent, sent.id);
    },
  },
  {
    name: "webhooks deliveries",
    says: "Lists deliveries and their answers",
    args: [HOOK],
    run: async ({ client, output, signal }, input) => {
      const found = await client().webhooks.deliveries(input.arg("id"), {}, { signal });
      output.table(found, found.deliveries, [
        { title: "id", of: ({ id }) => id },
        { title: "at", of: ({ at }) => at },
        { title: "event", of: ({ event }) => event },
        { title: "status", of: ({ status }) => status },
        { title: "tries", of: ({ attempts }) => attempts },
        { title: "answer", of: ({ response_status, error }) => response_status ?? error },
      ]);
    },
  },
  {
    name: "webhooks redeliver",
    says: "Sends a delivery again",
    args: [{ name: "delivery", says: "the delivery's id" }],
    run: async ({ client, output, signal }, input) => {
      const sent = await client().webhooks.redeliver(input.arg("delivery"), { signal });
      output.value(sent, sent.id);
    },
  },
  {
    name: "webhooks delete",
    says: "Deletes a webhook",
    args: [HOOK],
    run: async ({ client, output, signal }, input) => {
      await client().webhooks.remove(input.arg("id"), { signal });
      output.say(`Webhook ${input.arg("id")} is deleted.`);
    },
  },
];

export const catalogCommands: readonly Verb[] = [...catalog, ...webhooks];
