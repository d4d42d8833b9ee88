// Subscriptions to providers' model lists: the state of each, sync now, subscribe, unsubscribe.

import { useState } from "preact/hooks";
import type { ProviderResource, SubscriptionResource } from "../../contract/catalog.ts";
import { api } from "../api.ts";
import { count, hostOf } from "../format.ts";
import { Lamp } from "../parts/lamp.tsx";
import { Empty, LoadState, Page, Panel } from "../parts/page.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { href } from "../router.ts";
import { catalogVersion } from "../state/board.ts";
import { useLoad, useThrottled } from "../state/load.ts";
import { CatalogWeek } from "./catalog-week.tsx";
import { SubscribeDialog } from "./subscribe-dialog.tsx";
import { SyncButton } from "./sync-button.tsx";

const REREAD_EVERY_MS = 1000;

const stateOf = ({ last_error, models_synced_at }: SubscriptionResource) =>
  last_error !== null
    ? ({ aspect: "stop", word: "failing" } as const)
    : models_synced_at === null
      ? ({ aspect: "dark", word: "not synced" } as const)
      : ({ aspect: "clear", word: "in sync" } as const);

const Row = ({ subscription, onDone }: { subscription: SubscriptionResource; onDone: () => void }) => {
  const { aspect, word } = stateOf(subscription);
  return (
    <tr>
      <td class="cell-status">
        <span class={`status status-${aspect}`}>
          <Lamp aspect={aspect} />
          {word}
        </span>
      </td>
      <td class="cell-main">
        <a class="row-link" href={href(["catalog", subscription.id])}>
          {subscription.provider}
        </a>
        {subscription.last_error !== null && (
          <span class="row-note tone-stop" title={subscription.last_error}>
            {subscription.last_error} (<Time at={subscription.last_error_at} />)
          </span>
        )}
      </td>
      <td class="num">{count(subscription.model_count)}</td>
      <td class="num cell-wide cell-mid">
        <Time at={subscription.models_synced_at} />
      </td>
      <td class="num cell-wide">
        {subscription.next_sync_at === null ? <span class="dim">off</span> : <Time at={subscription.next_sync_at} />}
      </td>
      <td class="cell-wide">
        <code>{subscription.models_sync_schedule}</code>
      </td>
      <td class="cell-actions">
        <SyncButton subscription={subscription} onDone={onDone} isShort />
      </td>
    </tr>
  );
};

const COLUMNS: readonly Column[] = [
  { title: "State" },
  { title: "Provider" },
  { title: "Models", class: "num" },
  { title: "Synced", class: "num cell-wide cell-mid" },
  { title: "Next", class: "num cell-wide" },
  { title: "Schedule, UTC", class: "cell-wide" },
  { title: "Actions", isUnseen: true },
];

const SubscriptionTable = ({ rows, onDone }: { rows: readonly SubscriptionResource[]; onDone: () => void }) => (
  <Table name="Subscriptions" columns={COLUMNS}>
    {rows.map((subscription) => (
      <Row key={subscription.id} subscription={subscription} onDone={onDone} />
    ))}
  </Table>
);

/** Where each customer has an address of its own, the file names one that cannot exist (RFC 2606). */
const addressOf = ({ local, list_url }: ProviderResource): string => {
  if (local) return "on this network";
  const host = hostOf(list_url);
  return host.endsWith(".invalid") ? "an address of your own" : host;
};

const Providers = ({ providers }: { providers: readonly ProviderResource[] }) => (
  <Panel title="Known providers">
    <ul class="providers">
      {providers.map((one) => (
        <li key={one.provider}>
          <strong>{one.provider}</strong>
          <span class="dim">{addressOf(one)}</span>
          <span class="dim">{one.auth === null ? "no key needed" : `key ${one.auth.ref}`}</span>
        </li>
      ))}
    </ul>
  </Panel>
);

export const Catalog = () => {
  const [isAdding, setAdding] = useState(false);
  const version = useThrottled(catalogVersion.value, REREAD_EVERY_MS);
  const { data, error, reload } = useLoad(`catalog ${version}`, async (signal) => {
    const [{ subscriptions }, { providers }] = await Promise.all([
      api.catalog.subscriptions({ signal }),
      api.catalog.providers({ signal }),
    ]);
    return { subscriptions, providers };
  });
  return (
    <Page
      title="Catalog"
      lead="Which models each provider offers; subscriptions keep the lists current."
      actions={
        <button type="button" class="button primary" disabled={data === null} onClick={() => setAdding(true)}>
          Subscribe
        </button>
      }
    >
      <LoadState data={data} error={error} retry={reload} what="the catalog" />
      {data !== null && data.subscriptions.length === 0 && (
        <Empty title="No subscription yet.">
          Subscribe to a provider to see its models here, and every change of its list.
        </Empty>
      )}
      {data !== null && data.subscriptions.length > 0 && (
        <SubscriptionTable rows={data.subscriptions} onDone={reload} />
      )}
      {data !== null && data.subscriptions.length > 0 && (
        <CatalogWeek subscriptions={data.subscriptions} version={catalogVersion.value} />
      )}
      {data !== null && <Providers providers={data.providers} />}
      {isAdding && data !== null && (
        <SubscribeDialog
          providers={data.providers}
          subscription={null}
          onDone={reload}
          onClose={() => setAdding(false)}
        />
      )}
    </Page>
  );
};
