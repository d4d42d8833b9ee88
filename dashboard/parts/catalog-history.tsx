// A provider's changes as a diff by sync: added and removed models, and for a change the values before and after.

import type { CatalogHistoryList } from "../../contract/catalog.ts";
import { Empty } from "./page.tsx";
import { Time } from "./time.tsx";

export type Entry = CatalogHistoryList["history"][number];

export const SIGNS = { added: "+", removed: "−", changed: "~" } as const;
export const KINDS = { added: "in", removed: "out", changed: "changed" } as const;

export const changesOf = ({ before, after }: Entry): string =>
  (["name", "context_window"] as const)
    .filter((field) => before?.[field] !== after?.[field])
    .map((field) => `${field.replace("_", " ")} ${before?.[field] ?? "unknown"} → ${after?.[field] ?? "unknown"}`)
    .join(", ");

const bySync = (history: readonly Entry[]): [at: string, entries: Entry[]][] => {
  const groups = new Map<string, Entry[]>();
  for (const entry of history) groups.set(entry.at, [...(groups.get(entry.at) ?? []), entry]);
  return [...groups];
};

export const CatalogHistory = ({ history }: { history: readonly Entry[] }) =>
  history.length === 0 ? (
    <Empty title="Nothing has changed yet." />
  ) : (
    <ol class="catalog-history">
      {bySync(history).map(([at, entries]) => (
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
                {entry.kind === "changed" && <span class="dim"> {changesOf(entry)}</span>}
              </div>
            ))}
          </section>
        </li>
      ))}
    </ol>
  );
