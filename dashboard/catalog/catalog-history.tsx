// A provider's changes as a diff by sync: added and removed models, and for a change the values before and after.

import type { CatalogHistoryList, ListedPrice } from "../../contract/catalog.ts";
import { price } from "../format.ts";
import { Empty } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";

export type Entry = CatalogHistoryList["history"][number];

export const SIGNS = { added: "+", removed: "−", changed: "~" } as const;
export const KINDS = { added: "in", removed: "out", changed: "changed" } as const;

const RATES = [
  ["per_request", "a request"],
  ["input_per_mtok", "in"],
  ["cached_input_per_mtok", "in from a cache"],
  ["output_per_mtok", "out"],
] as const;

/** Dollars a request, if it has such a price, and per million tokens. */
export const priceText = (listed: ListedPrice | undefined): string =>
  listed === undefined
    ? "no price"
    : RATES.flatMap(([name, says]) => (listed[name] === undefined ? [] : [`${price(listed[name])} ${says}`])).join(
        ", ",
      );

const priceChange = ({ price_before, price_after }: Entry): string[] =>
  JSON.stringify(price_before) === JSON.stringify(price_after)
    ? []
    : [`price ${priceText(price_before)} → ${priceText(price_after)} per million tokens`];

export const changesOf = (entry: Entry): string => {
  const { kind, before, after, price_after } = entry;
  if (kind === "added") return price_after === undefined ? "" : `${priceText(price_after)} per million tokens`;
  if (kind === "removed") return "";
  const fields = (["name", "context_window"] as const)
    .filter((field) => before?.[field] !== after?.[field])
    .map((field) => `${field.replace("_", " ")} ${before?.[field] ?? "unknown"} → ${after?.[field] ?? "unknown"}`);
  return [...fields, ...priceChange(entry)].join(", ");
};

export const CatalogHistory = ({ history }: { history: readonly Entry[] }) =>
  history.length === 0 ? (
    <Empty title="Nothing has changed yet." />
  ) : (
    <ol class="catalog-history">
      {[...Map.groupBy(history, ({ at }) => at)].map(([at, entries]) => (
        <li key={at}>
          <h3>
            <Time at={at} as="full" />
          </h3>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and so must be reachable by keyboard */}
          <section class="diff" tabIndex={0} aria-label={`Changes of ${at}`}>
            {entries.map((entry) => (
              <div key={entry.model_id} class={`diff-${KINDS[entry.kind]}`}>
                <span class="diff-sign">{SIGNS[entry.kind]}</span>
                <span class="visually-hidden">{entry.kind} </span>
                {entry.model_id}
                <span class="dim"> {changesOf(entry)}</span>
              </div>
            ))}
          </section>
        </li>
      ))}
    </ol>
  );
