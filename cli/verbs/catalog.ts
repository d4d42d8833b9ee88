// The catalog.

import type { SubscriptionResource } from "../../contract/catalog.ts";
import { when } from "../terminal/when.ts";
import type { Context, Verb } from "../verb.ts";
import { PAGE_FLAGS, showPages } from "./pages.ts";

const ID = { name: "id", says: "the subscription's id" } as const;

const showSubscription = ({ output }: Context, one: SubscriptionResource): void =>
  output.record(one, [
    ["id", one.id],
    ["provider", one.provider],
    ["schedule", one.models_sync_schedule],
    ["url", one.models_sync_url],
    ["models", one.model_count],
    ["synced", when(one.models_synced_at)],
    ["next", when(one.next_sync_at)],
    ["error", one.last_error],
  ]);

export const catalogCommands: readonly Verb[] = [
  {
    name: "catalog providers",
    says: "Lists the providers that can be subscribed to",
    examples: ["catalog providers"],
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
    examples: ["catalog subscriptions"],
    run: async ({ client, output, signal }) => {
      const found = await client().catalog.subscriptions({ signal });
      output.table(found, found.subscriptions, [
        { title: "id", of: ({ id }) => id },
        { title: "provider", of: ({ provider }) => provider },
        { title: "models", of: ({ model_count }) => model_count },
        { title: "synced", of: ({ models_synced_at }) => when(models_synced_at) },
        { title: "error", of: ({ last_error }) => last_error },
      ]);
    },
  },
  {
    name: "catalog subscribe",
    says: "Subscribes to a provider's model list",
    examples: ["catalog subscribe openai", 'catalog subscribe openrouter --cron "0 6 * * *"'],
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
    examples: ["catalog unsubscribe sub_1"],
    args: [ID],
    run: async ({ client, output, signal }, input) => {
      await client().catalog.unsubscribe(input.arg("id"), { signal });
      output.say(`Subscription ${input.arg("id")} is deleted.`);
    },
  },
  {
    name: "catalog models",
    says: "Lists the models of the last successful sync",
    examples: ["catalog models sub_1", "catalog models sub_1 --json"],
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
    examples: ["catalog history sub_1 --limit 20"],
    args: [ID],
    flags: PAGE_FLAGS,
    run: async ({ client, output, signal }, input) => {
      const read = (limit: number | null) => client().catalog.history(input.arg("id"), { limit }, { signal });
      await showPages(output, input, "history", read, [
        { title: "at", of: ({ at }) => when(at) },
        { title: "change", of: ({ kind }) => kind },
        { title: "model", of: ({ model_id }) => model_id },
      ]);
    },
  },
  {
    name: "catalog sync",
    says: "Syncs a subscription now",
    examples: ["catalog sync sub_1"],
    args: [ID],
    run: async ({ client, output, signal }, input) => {
      const found = await client().catalog.sync(input.arg("id"), { signal });
      output.record(found, [
        ["added", found.added],
        ["removed", found.removed],
        ["updated", found.updated],
        ["repriced", found.repriced],
        ["synced", when(found.models_synced_at)],
      ]);
    },
  },
];
