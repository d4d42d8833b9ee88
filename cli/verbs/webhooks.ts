// Webhooks.

import type { NewWebhookRequest, WebhookResource } from "../../contract/webhook.ts";
import type { Column } from "../terminal/cells.ts";
import { when } from "../terminal/when.ts";
import type { Context, Verb } from "../verb.ts";
import { PAGE_FLAGS, showPages } from "./pages.ts";

const ID = { name: "id", says: "the webhook's id" } as const;

const COLUMNS: readonly Column<WebhookResource>[] = [
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
    ["failing since", when(one.failing_since)],
  ]);

const turned = (word: string, enabled: boolean, says: string): Verb => ({
  name: `webhooks ${word}`,
  says,
  examples: [`webhooks ${word} wh_1`],
  args: [ID],
  run: async (context, input) => {
    const { webhooks } = context.client();
    showWebhook(context, await webhooks.edit(input.arg("id"), { enabled }, { signal: context.signal }));
  },
});

export const webhookCommands: readonly Verb[] = [
  {
    name: "webhooks list",
    says: "Lists all webhooks",
    examples: ["webhooks list"],
    run: async ({ client, output, signal }) => {
      const found = await client().webhooks.list({ signal });
      output.table(found, found.webhooks, COLUMNS);
    },
  },
  {
    name: "webhooks get",
    says: "Shows a webhook",
    examples: ["webhooks get wh_1"],
    args: [ID],
    run: async (context, input) =>
      showWebhook(context, await context.client().webhooks.get(input.arg("id"), { signal: context.signal })),
  },
  {
    name: "webhooks create",
    says: "Creates a webhook; its secret is shown only once",
    examples: ["webhooks create https://hooks.example/jobs --event job.failed --event job.completed"],
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
  turned("enable", true, "Enables a disabled webhook"),
  turned("disable", false, "Disables a webhook; what waits for it is given up"),
  {
    name: "webhooks rotate",
    says: "Replaces a webhook's secret; the old one also signs for 24 hours",
    examples: ["webhooks rotate wh_1"],
    args: [ID],
    run: async ({ client, output, signal }, input) => {
      const made = await client().webhooks.rotate(input.arg("id"), { signal });
      output.value(made, made.secret);
    },
  },
  {
    name: "webhooks test",
    says: "Sends a test event",
    examples: ["webhooks test wh_1"],
    args: [ID],
    run: async ({ client, output, signal }, input) => {
      const sent = await client().webhooks.test(input.arg("id"), { signal });
      output.value(sent, sent.id);
    },
  },
  {
    name: "webhooks deliveries",
    says: "Lists deliveries and their answers",
    examples: ["webhooks deliveries wh_1 --limit 20"],
    args: [ID],
    flags: PAGE_FLAGS,
    run: async ({ client, output, signal }, input) => {
      const read = (limit: number | null) => client().webhooks.deliveries(input.arg("id"), { limit }, { signal });
      await showPages(output, input, "deliveries", read, [
        { title: "id", of: ({ id }) => id },
        { title: "at", of: ({ at }) => when(at) },
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
    examples: ["webhooks redeliver del_1"],
    args: [{ name: "delivery", says: "the delivery's id" }],
    run: async ({ client, output, signal }, input) => {
      const sent = await client().webhooks.redeliver(input.arg("delivery"), { signal });
      output.value(sent, sent.id);
    },
  },
  {
    name: "webhooks delete",
    says: "Deletes a webhook",
    examples: ["webhooks delete wh_1"],
    args: [ID],
    run: async ({ client, output, signal }, input) => {
      await client().webhooks.remove(input.arg("id"), { signal });
      output.say(`Webhook ${input.arg("id")} is deleted.`);
    },
  },
];
