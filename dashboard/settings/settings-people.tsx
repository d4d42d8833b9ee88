// The people who have signed in. The identity provider decides their role; only the block is decided here.

import type { PersonResource } from "../../contract/access/person.ts";
import { api } from "../api.ts";
import { useFind } from "../parts/find.tsx";
import { Lamp } from "../parts/lamp.tsx";
import { Empty, LoadState } from "../parts/page.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { useLoad } from "../state/load.ts";
import { attempt } from "../state/notice.ts";
import { SettingsPage } from "./settings-tabs.tsx";

const COLUMNS: readonly Column[] = [
  { title: "State" },
  { title: "Name" },
  { title: "Role" },
  { title: "Last seen", class: "num cell-wide" },
  { title: "Actions", isUnseen: true },
];

const Row = ({ person, reload }: { person: PersonResource; reload: () => void }) => {
  const { id, name, email, role, blocked, last_seen_at } = person;
  const act = async (work: () => Promise<unknown>, done: string): Promise<void> => {
    if (await attempt(`person ${id}`, work, done)) reload();
  };
  return (
    <tr class={blocked ? "row-dim" : ""}>
      <td class="cell-status">
        <span class={`status status-${blocked ? "dim" : "clear"}`}>
          <Lamp aspect={blocked ? "dark" : "clear"} />
          {blocked ? "blocked" : "allowed"}
        </span>
      </td>
      <td class="cell-main">
        <strong>{name}</strong>
        {email !== null && <span class="row-note dim">{email}</span>}
      </td>
      <td>{role}</td>
      <td class="num cell-wide">
        <Time at={last_seen_at} />
      </td>
      <td class="cell-actions">
        <button
          type="button"
          class="button small"
          aria-label={`End sessions: ${name}`}
          onClick={() => act(() => api.people.endSessions(id), `The sessions of ${name} have ended.`)}
        >
          End sessions
        </button>
        <button
          type="button"
          class={`button small${blocked ? "" : " danger"}`}
          aria-label={`${blocked ? "Unblock" : "Block"} ${name}`}
          onClick={() =>
            blocked
              ? act(() => api.people.unblock(id), `${name} may sign in again.`)
              : act(() => api.people.block(id), `${name} is blocked.`)
          }
        >
          {blocked ? "Unblock" : "Block"}
        </button>
      </td>
    </tr>
  );
};

const PersonTable = ({ people, reload }: { people: readonly PersonResource[]; reload: () => void }) => {
  const { field, shown, more } = useFind(people, "people", ({ name, email, role }) => `${name} ${email ?? ""} ${role}`);
  return (
    <>
      {field}
      <Table name="People" columns={COLUMNS}>
        {shown.map((person) => (
          <Row key={person.id} person={person} reload={reload} />
        ))}
      </Table>
      {more}
    </>
  );
};

export const SettingsPeople = () => {
  const { data, error, reload } = useLoad("people", (signal) => api.people.list({ signal }));
  return (
    <SettingsPage>
      <LoadState data={data} error={error} retry={reload} what="the people" />
      {data?.people.length === 0 && (
        <Empty title="Nobody has signed in yet">
          <a href="#/settings/sign-in">Set how people sign in</a>
        </Empty>
      )}
      {data !== null && data.people.length > 0 && <PersonTable people={data.people} reload={reload} />}
    </SettingsPage>
  );
};
