// The audit log: who changed keys, config, killswitch, workers, schedules and catalog, newest first.

import type { AuditEntryResource } from "../../contract/audit.ts";
import { HOUR_MS } from "../../contract/words/values.ts";
import { api } from "../api.ts";
import { SelectField, TextField } from "../parts/form.tsx";
import { Empty, LoadState } from "../parts/page.tsx";
import { offsetInAddress, PAGE_SIZE, Pager } from "../parts/pager.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { place, refine } from "../router.ts";
import { serverNow } from "../state/clock.ts";
import { useLoad, useSettled } from "../state/load.ts";
import { SettingsPage } from "./settings-tabs.tsx";

const hasDetail = (detail: unknown): boolean =>
  detail !== null && !(typeof detail === "object" && Object.keys(detail as object).length === 0);

const inWords = (detail: unknown): string =>
  Object.entries(detail as Record<string, unknown>)
    .filter(([, value]) => value !== null)
    .map(
      ([name, value]) => `${name.replaceAll("_", " ")}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
    )
    .join(" · ");

const Detail = ({ detail }: { detail: unknown }) => {
  if (!hasDetail(detail)) return null;
  const text = typeof detail === "object" ? inWords(detail) : String(detail);
  if (text.length < 90) return <span class="row-note dim">{text}</span>;
  return (
    <details class="row-note">
      <summary class="dim">Details</summary>
      <pre class="audit-detail">{JSON.stringify(detail, null, 2)}</pre>
    </details>
  );
};

const Row = ({ entry }: { entry: AuditEntryResource }) => (
  <tr>
    <td class="cell-when">
      <Time at={entry.at} as="full" />
    </td>
    <td class="cell-roomy" title={entry.actor.key_id ?? "the service itself"}>
      {entry.actor.name}
    </td>
    <td class="cell-main">
      <strong>{entry.action}</strong> {entry.target}
      <span class="narrow-only">
        {" "}
        by <strong>{entry.actor.name}</strong>
      </span>
      <Detail detail={entry.detail} />
    </td>
  </tr>
);

const COLUMNS: readonly Column[] = [
  { title: "When" },
  { title: "Who", class: "cell-roomy cell-who" },
  { title: "What" },
];

/** The subjects of entries: the first word of their action. */
const ABOUT = [
  ["", "everything"],
  ["killswitch", "the killswitch"],
  ["key", "keys"],
  ["provider_key", "keys of providers"],
  ["overflow", "overflow to hosted providers"],
  ["config", "the config"],
  ["budget", "budgets"],
  ["worker", "workers"],
  ["model_task", "models on the machines"],
  ["jobs", "many jobs at once"],
  ["schedule", "schedules"],
  ["catalog", "the catalog"],
  ["webhook", "webhooks"],
  ["person", "people"],
  ["sign_in", "how people sign in"],
  ["storage", "storage"],
  ["archive", "the archive"],
  ["tenant", "the tenant"],
] as const;

const SINCE: readonly (readonly [hours: string, says: string])[] = [
  ["", "at any time"],
  ["1", "in the last hour"],
  ["24", "in the last 24 hours"],
  ["168", "in the last 7 days"],
];

/** As it was typed, with a space at its end. */
const typed = (name: string): string => place.value.query.get(name) ?? "";

const wishInAddress = () => {
  const hours = Number(typed("hours"));
  return {
    action: typed("about") || undefined,
    actor: typed("who").trim() || undefined,
    target: typed("what").trim() || undefined,
    hours: Number.isSafeInteger(hours) && hours > 0 ? hours : undefined,
  };
};

const change = (changes: Record<string, string>): void => refine({ ...changes, offset: null });

const Filters = () => (
  <search class="filters">
    <SelectField label="About" value={typed("about")} options={ABOUT} onInput={(about) => change({ about })} />
    <TextField label="Who: a key's name or id" value={typed("who")} onInput={(who) => change({ who })} />
    <TextField label="To what: its name or id" value={typed("what")} onInput={(what) => change({ what })} />
    <SelectField label="When" value={typed("hours")} options={SINCE} onInput={(hours) => change({ hours })} />
  </search>
);

export const SettingsAudit = () => {
  const offset = offsetInAddress();
  const wish = wishInAddress();
  const asked = useSettled(JSON.stringify({ ...wish, offset }));
  const { data, error, reload } = useLoad(`audit ${asked}`, (signal) => {
    const { hours, ...rest } = JSON.parse(asked) as typeof wish & { offset: number };
    const since = hours === undefined ? {} : { since: new Date(serverNow() - hours * HOUR_MS).toISOString() };
    return api.audit.list({ ...rest, ...since, limit: PAGE_SIZE }, { signal });
  });
  const isFiltered = Object.values(wish).some((value) => value !== undefined);
  return (
    <SettingsPage
      actions={
        <button type="button" class="button" onClick={reload}>
          Read again
        </button>
      }
    >
      <Filters />
      <LoadState data={data} error={error} retry={reload} what="the audit log" />
      {data?.total === 0 && (
        <Empty title={isFiltered ? "No entry matches." : "Nothing has been recorded yet."}>
          {isFiltered && <a href="#/settings/audit">Show all entries</a>}
        </Empty>
      )}
      {data !== null && data.total > 0 && (
        <>
          <Table name="Audit log, newest first" columns={COLUMNS} class="audit-table">
            {data.entries.map((entry, index) => (
              <Row key={`${entry.at} ${index}`} entry={entry} />
            ))}
          </Table>
          <Pager total={data.total} offset={offset} one="entry" many="entries" />
        </>
      )}
    </SettingsPage>
  );
};
