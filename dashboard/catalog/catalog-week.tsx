// What changed in the catalog in the last seven days, all providers, newest first.

import type { SubscriptionResource } from "../../contract/catalog.ts";
import { DAY_MS } from "../../contract/words/values.ts";
import { api } from "../api.ts";
import { plural } from "../format.ts";
import { Empty, LoadState, Panel } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { href } from "../router.ts";
import { serverNow } from "../state/clock.ts";
import { useLoad } from "../state/load.ts";
import { changesOf, type Entry, KINDS, SIGNS } from "./catalog-history.tsx";

const WEEK_MS = 7 * DAY_MS;
const MAX_SHOWN = 100;
const PAGE = 200;

interface Change extends Entry {
  readonly subscription: SubscriptionResource;
}

const readWeek = async (subscriptions: readonly SubscriptionResource[], signal: AbortSignal): Promise<Change[]> => {
  const since = serverNow() - WEEK_MS;
  const lists = await Promise.all(
    subscriptions.map(async (subscription) => {
      const { history } = await api.catalog.history(subscription.id, { limit: PAGE }, { signal });
      return history.filter(({ at }) => Date.parse(at) >= since).map((entry): Change => ({ ...entry, subscription }));
    }),
  );
  return lists.flat().sort((one, other) => (one.at < other.at ? 1 : -1));
};

const sumsOf = (changes: readonly Change[]): string =>
  (["added", "removed", "changed"] as const)
    .map((kind) => [kind, changes.filter((one) => one.kind === kind).length] as const)
    .filter(([, many]) => many > 0)
    .map(([kind, many]) => `${many} ${kind}`)
    .join(", ");

export const CatalogWeek = ({
  subscriptions,
  version,
}: {
  subscriptions: readonly SubscriptionResource[];
  version: number;
}) => {
  const shape = subscriptions.map(({ id, models_synced_at }) => `${id} ${models_synced_at}`).join();
  const { data, error, reload } = useLoad(`${shape} ${version}`, (signal) => readWeek(subscriptions, signal));
  return (
    <Panel title="Changed this week" aside={data !== null && <span class="dim">{sumsOf(data)}</span>}>
      <LoadState data={data} error={error} retry={reload} what="what changed" />
      {data?.length === 0 && <Empty title="Nothing has changed in seven days." />}
      {data !== null && data.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and so must be reachable by keyboard
        <section class="diff" tabIndex={0} aria-label="Changes of this week">
          {data.slice(0, MAX_SHOWN).map((change) => (
            <div key={`${change.subscription.id} ${change.at} ${change.model_id}`} class={`diff-${KINDS[change.kind]}`}>
              <span class="diff-sign">{SIGNS[change.kind]}</span>
              <span class="visually-hidden">{change.kind} </span>
              <a href={href(["catalog", change.subscription.id])}>{change.subscription.provider}</a> {change.model_id}
              <span class="dim"> {changesOf(change)}</span>{" "}
              <span class="dim">
                <Time at={change.at} />
              </span>
            </div>
          ))}
        </section>
      )}
      {data !== null && data.length > MAX_SHOWN && (
        <p class="dim">{plural(data.length - MAX_SHOWN, "older change")} on the providers' own pages.</p>
      )}
    </Panel>
  );
};
