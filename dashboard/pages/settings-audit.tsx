// The audit log: who changed keys, config, killswitch, workers, schedules and catalog, newest first.

import type { AuditEntryResource } from "../../contract/audit.ts";
import { api } from "../api.ts";
import { Empty, Loading, Page } from "../parts/page.tsx";
import { offsetInAddress, PAGE_SIZE, Pager } from "../parts/pager.tsx";
import { Problem } from "../parts/problem.tsx";
import { SettingsTabs } from "../parts/settings-tabs.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { useLoad } from "../state/load.ts";

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
    <td class="cell-wide" title={entry.actor.key_id ?? "the service itself"}>
      {entry.actor.name}
    </td>
    <td class="cell-main">
      <strong>{entry.action}</strong> {entry.target}
      <Detail detail={entry.detail} />
    </td>
  </tr>
);

const COLUMNS: readonly Column[] = [{ title: "When" }, { title: "Who", class: "cell-wide" }, { title: "What" }];

export const SettingsAudit = () => {
  const offset = offsetInAddress();
  const { data, error, reload } = useLoad(`audit ${offset}`, (signal) =>
    api.audit.list({ limit: PAGE_SIZE, offset }, { signal }),
  );
  return (
    <Page
      title="Settings"
      actions={
        <button type="button" class="button" onClick={reload}>
          Read again
        </button>
      }
    >
      <SettingsTabs />
      <Problem error={error} retry={reload} />
      {data === null && error === null && <Loading what="the audit log" />}
      {data?.total === 0 && <Empty title="Nothing has been recorded yet." />}
      {data !== null && data.total > 0 && (
        <>
          <Table name="Audit log, newest first" columns={COLUMNS}>
            {data.entries.map((entry, index) => (
              <Row key={`${entry.at} ${index}`} entry={entry} />
            ))}
          </Table>
          <Pager total={data.total} offset={offset} what="entries" />
        </>
      )}
    </Page>
  );
};
