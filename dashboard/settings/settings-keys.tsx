// Keys: create, change, rotate, revoke. A key's secret is shown once.

import { useEffect, useRef, useState } from "preact/hooks";
import type { KeyAnswer, KeyResource } from "../../contract/access/key.ts";
import { api } from "../api.ts";
import { useFind } from "../parts/find.tsx";
import { Lamp } from "../parts/lamp.tsx";
import { LoadState } from "../parts/page.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { place } from "../router.ts";
import { useLoad } from "../state/load.ts";
import { isAdmin } from "../state/session.ts";
import { CreateKeyDialog, EditKeyDialog, RevokeDialog, RotateDialog } from "./key-dialogs.tsx";
import { limitsInWords } from "./key-limits.tsx";
import { ProviderKeys } from "./provider-keys.tsx";
import { SecretDialog } from "./secret-dialog.tsx";
import { SettingsPage } from "./settings-tabs.tsx";

type Act = "edit" | "rotate" | "revoke";
type Open = { kind: "create" } | { kind: Act; key: KeyResource };

const ACTS: readonly (readonly [Act, string])[] = [
  ["edit", "Edit"],
  ["rotate", "Rotate"],
  ["revoke", "Revoke"],
];

interface RowProps {
  readonly item: KeyResource;
  readonly onOpen: (open: Open) => void;
}

const Acts = ({ item, onOpen }: RowProps) =>
  ACTS.filter(([kind]) => kind !== "edit" || isAdmin.value).map(([kind, label]) => (
    <button
      key={kind}
      type="button"
      class={`button small${kind === "revoke" ? " danger" : ""}`}
      aria-label={`${label} ${item.name}`}
      onClick={() => onOpen({ kind, key: item })}
    >
      {label}
    </button>
  ));

const Row = ({ item, onOpen }: RowProps) => {
  const isLive = item.revoked_at === null;
  const isSought = place.value.query.get("key") === item.id;
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (isSought) row.current?.scrollIntoView({ block: "center" });
  }, [isSought]);
  return (
    <tr ref={row} class={isSought ? "row-selected" : isLive ? "" : "row-dim"}>
      <td class="cell-status">
        <span class={`status status-${isLive ? "clear" : "dim"}`}>
          <Lamp aspect={isLive ? "clear" : "dark"} />
          {isLive ? "valid" : "revoked"}
        </span>
      </td>
      <td class="cell-main">
        <strong>{item.name}</strong>
        <span class="row-note dim">
          <code class="id">{item.id}</code>
        </span>
        {item.limits !== null && <span class="row-note dim">{limitsInWords(item.limits)}</span>}
        {isLive && (
          <span class="actions narrow-only">
            <Acts item={item} onOpen={onOpen} />
          </span>
        )}
      </td>
      <td>
        {item.role}
        {item.person_id !== null && <span class="row-note dim">personal</span>}
      </td>
      <td class="num cell-wide">
        <Time at={item.created_at} />
      </td>
      <td class="num cell-wide">
        {item.last_used_at === null ? <span class="dim">never</span> : <Time at={item.last_used_at} />}
      </td>
      <td class="cell-actions cell-roomy">{isLive && <Acts item={item} onOpen={onOpen} />}</td>
    </tr>
  );
};

const COLUMNS: readonly Column[] = [
  { title: "State" },
  { title: "Name" },
  { title: "Role" },
  { title: "Created", class: "num cell-wide" },
  { title: "Last used", class: "num cell-wide" },
  { title: "Actions", class: "cell-roomy", isUnseen: true },
];

const KeyTable = ({ keys, onOpen }: { keys: readonly KeyResource[]; onOpen: (open: Open) => void }) => {
  const linked = place.value.query.get("key");
  const textOf = ({ id, name, role }: KeyResource): string => `${name} ${id} ${role}`;
  const { field, shown, more } = useFind(keys, "keys", textOf, ({ id }) => id === linked);
  return (
    <>
      {field}
      <Table name="Keys" columns={COLUMNS}>
        {shown.map((key) => (
          <Row key={key.id} item={key} onOpen={onOpen} />
        ))}
      </Table>
      {more}
    </>
  );
};

export const SettingsKeys = () => {
  const [open, setOpen] = useState<Open | null>(null);
  const [made, setMade] = useState<KeyAnswer | null>(null);
  const { data, error, reload } = useLoad("keys", (signal) => api.keys.list({ signal }));
  const close = () => setOpen(null);
  /** In place of the dialog that made it, so that the focus then returns to what opened that one. */
  const showSecret = (answer: KeyAnswer): void => {
    close();
    setMade(answer);
    reload();
  };
  return (
    <SettingsPage
      actions={
        <button type="button" class="button primary" onClick={() => setOpen({ kind: "create" })}>
          New key
        </button>
      }
    >
      <LoadState data={data} error={error} retry={reload} what="the keys" />
      {data !== null && <KeyTable keys={data.keys} onOpen={setOpen} />}
      {isAdmin.value && <ProviderKeys />}
      {open?.kind === "create" && <CreateKeyDialog onMade={showSecret} onClose={close} />}
      {open?.kind === "edit" && <EditKeyDialog item={open.key} onDone={reload} onClose={close} />}
      {open?.kind === "rotate" && <RotateDialog item={open.key} onMade={showSecret} onClose={close} />}
      {open?.kind === "revoke" && <RevokeDialog item={open.key} onDone={reload} onClose={close} />}
      {made !== null && <SecretDialog title={`Key “${made.name}”`} secret={made.key} onClose={() => setMade(null)} />}
    </SettingsPage>
  );
};
