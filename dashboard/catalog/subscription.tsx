// One subscription: its models, its changes as a diff, and its settings.

import { useState } from "preact/hooks";
import type { ListedPrice, ModelList, SubscriptionResource } from "../../contract/catalog.ts";
import { entryOf } from "../../contract/words/values.ts";
import { api } from "../api.ts";
import { count } from "../format.ts";
import { Confirm } from "../parts/dialog.tsx";
import { Fact } from "../parts/fact.tsx";
import { useFind } from "../parts/find.tsx";
import { Empty, LoadState, Page, Panel } from "../parts/page.tsx";
import { offsetInAddress, PAGE_SIZE, Pager } from "../parts/pager.tsx";
import { Time } from "../parts/time.tsx";
import { go } from "../router.ts";
import { catalogVersion } from "../state/board.ts";
import { useLoad, useThrottled } from "../state/load.ts";
import { tell } from "../state/notice.ts";
import { CatalogHistory, priceText } from "./catalog-history.tsx";
import { SubscribeDialog } from "./subscribe-dialog.tsx";
import { SyncButton } from "./sync-button.tsx";

const BACK = { label: "Catalog", href: "#/catalog" };
const REREAD_EVERY_MS = 1000;

const figuresOf = ({ context_window }: ModelList["models"][number], price: ListedPrice | undefined): string =>
  [
    ...(context_window === undefined ? [] : [`${count(context_window)} tokens`]),
    ...(price === undefined ? [] : [priceText(price)]),
  ].join(" · ");

const Models = ({ models, prices }: { models: ModelList["models"]; prices: ModelList["prices"] }) => {
  const { field, shown, more } = useFind(models, "models", ({ id, name }) => `${id} ${name}`);
  if (models.length === 0) return <Empty title="No models known yet.">Sync now to read the provider's list.</Empty>;
  return (
    <>
      {field}
      <ul class="models">
        {shown.map((model) => (
          <li key={model.id}>
            <code>{model.id}</code>
            {model.name !== model.id && <span class="dim">{model.name}</span>}
            <span class="dim num">{figuresOf(model, entryOf(prices ?? {}, model.id))}</span>
          </li>
        ))}
      </ul>
      {more}
    </>
  );
};

const Facts = ({ subscription }: { subscription: SubscriptionResource }) => (
  <dl class="facts">
    <Fact name="Synced">
      <Time at={subscription.models_synced_at} />
    </Fact>
    <Fact name="Next sync">
      <Time at={subscription.next_sync_at} />
    </Fact>
    <Fact name="Schedule, UTC">
      <code>{subscription.models_sync_schedule}</code>
    </Fact>
    <Fact name="List address">{subscription.models_sync_url ?? "the provider's own"}</Fact>
    <Fact name="Id">
      <code class="id">{subscription.id}</code>
    </Fact>
  </dl>
);

const Actions = ({ subscription, reload }: { subscription: SubscriptionResource; reload: () => void }) => {
  const [open, setOpen] = useState<"edit" | "delete" | null>(null);
  const close = () => setOpen(null);
  return (
    <>
      <button type="button" class="button" onClick={() => setOpen("edit")}>
        Edit
      </button>
      <button type="button" class="button danger" onClick={() => setOpen("delete")}>
        Unsubscribe
      </button>
      <SyncButton subscription={subscription} onDone={reload} />
      {open === "edit" && (
        <SubscribeDialog providers={[]} subscription={subscription} onDone={reload} onClose={close} />
      )}
      {open === "delete" && (
        <Confirm
          title={`Unsubscribe from ${subscription.provider}?`}
          action="Unsubscribe"
          isDestructive
          onConfirm={async () => {
            await api.catalog.unsubscribe(subscription.id);
            tell(`Unsubscribed from ${subscription.provider}.`);
            go("#/catalog");
          }}
          onClose={close}
        >
          <p>Its models and their history are deleted.</p>
        </Confirm>
      )}
    </>
  );
};

const SyncError = ({ subscription }: { subscription: SubscriptionResource }) =>
  subscription.last_error === null ? null : (
    <div class="problem">
      <p>
        <strong>The last sync failed</strong> <Time at={subscription.last_error_at} />
      </p>
      <p>{subscription.last_error}</p>
      {subscription.models_synced_at !== null && (
        <p class="dim">The models below are those of the last successful sync.</p>
      )}
    </div>
  );

export const SubscriptionPage = ({ id }: { id: string }) => {
  const offset = offsetInAddress();
  const version = useThrottled(catalogVersion.value, REREAD_EVERY_MS);
  const { data, error, reload } = useLoad(`${id} ${offset} ${version}`, async (signal) => {
    const [{ subscriptions }, { models, prices }, history] = await Promise.all([
      api.catalog.subscriptions({ signal }),
      api.catalog.models(id, { signal }),
      api.catalog.history(id, { limit: PAGE_SIZE, offset }, { signal }),
    ]);
    const subscription = subscriptions.find((one) => one.id === id);
    if (subscription === undefined) throw new Error("There is no such subscription.");
    return { subscription, models, prices, history };
  });
  if (data === null) {
    return (
      <Page title="Subscription" back={BACK}>
        <LoadState data={null} error={error} retry={reload} what="the subscription" />
      </Page>
    );
  }
  const { subscription, models, prices, history } = data;
  return (
    <Page title={subscription.provider} back={BACK} actions={<Actions subscription={subscription} reload={reload} />}>
      <SyncError subscription={subscription} />
      <div class="split split-wide">
        <Panel title="Models">
          <Models models={models} prices={prices} />
        </Panel>
        <div class="stack-panels">
          <Panel title="Facts">
            <Facts subscription={subscription} />
          </Panel>
          <Panel title="History">
            <CatalogHistory history={history.history} />
            <Pager total={history.total} offset={offset} one="change" />
          </Panel>
        </div>
      </div>
    </Page>
  );
};
