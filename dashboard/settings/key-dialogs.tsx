// The dialogs of keys: create, change name and limits, rotate, revoke.

import { useState } from "preact/hooks";
import type { KeyAnswer, KeyResource } from "../../contract/access/key.ts";
import { api } from "../api.ts";
import { Confirm } from "../parts/dialog.tsx";
import { Choice, SelectField, TextField } from "../parts/form.tsx";
import { sendChanges } from "../parts/send-changes.ts";
import { useDraft } from "../state/drafts.ts";
import { tell } from "../state/notice.ts";
import { isPerson, session } from "../state/session.ts";
import { canHaveLimits, fieldsOf, LimitFields, limitsOf, NO_LIMITS, WeightField, withChanged } from "./key-limits.tsx";

type Role = KeyResource["role"];

const ROLES: readonly (readonly [Role, string])[] = [
  ["worker", "worker"],
  ["client", "client"],
  ["viewer", "viewer"],
  ["standard", "standard"],
  ["admin", "admin"],
];

const MAY: Record<Role, string> = {
  worker: "Runs jobs: presence, the worker protocol, reading the config.",
  client: "Uses only the front door (/v1), and reads and cancels the jobs it created.",
  viewer: "Reads what a standard key reads, including metrics and the live view, and changes nothing.",
  standard: "Operates: jobs, schedules, fleet, killswitch. No catalog, keys, config changes, or audit log.",
  admin: "Everything in this tenant.",
};

/** A person makes keys up to the own role; the holder of an admin key any. */
const rolesToMake = (): typeof ROLES => {
  const own = isPerson.value ? session.value?.role : "admin";
  const may: readonly Role[] = own === "viewer" ? ["viewer"] : ["client", "viewer", "standard"];
  return own === "admin" ? ROLES : ROLES.filter(([role]) => may.includes(role));
};

export const CreateKeyDialog = ({ onMade, onClose }: { onMade: (answer: KeyAnswer) => void; onClose: () => void }) => {
  const [name, setName] = useDraft("new key: name", "");
  const [role, setRole] = useDraft<Role>("new key: role", rolesToMake()[0]?.[0] ?? "viewer");
  const [limits, setLimits] = useDraft("new key: limits", NO_LIMITS);
  const [weight, setWeight] = useDraft("new key: weight", "1");
  const given = limitsOf(limits);
  const create = async (): Promise<void> => {
    const limited = given === null ? {} : { limits: given };
    onMade(await api.keys.create({ name: name.trim(), role, ...limited, weight: Number(weight) }));
  };
  return (
    <Confirm title="New key" action="Create" isReady={name.trim() !== ""} onConfirm={create} onClose={onClose}>
      <TextField
        label="Name"
        hint="Who or what will use it; shown in the audit log."
        value={name}
        onInput={setName}
        isRequired
        autoFocus
      />
      <Choice<Role> label="Role" value={role} options={rolesToMake()} onInput={setRole} />
      <p class="hint">{MAY[role]}</p>
      {isPerson.value && (
        <p class="hint">It is your own: it never has more than your role, and ends with your access.</p>
      )}
      {canHaveLimits(role) && <WeightField weight={weight} onInput={setWeight} />}
      {canHaveLimits(role) && <LimitFields limits={limits} onInput={setLimits} />}
    </Confirm>
  );
};

/** Name, weight and limits; they apply from the key's next request on. */
export const EditKeyDialog = ({ item, onDone, onClose }: KeyDialogProps & { onDone: () => void }) => {
  const [wish, setWish, began] = useDraft(`key ${item.id}`, {
    name: item.name,
    limits: fieldsOf(item.limits),
    weight: `${item.weight}`,
  });
  const { name, limits, weight } = wish;
  const change = (changes: Partial<typeof wish>) => setWish((was) => ({ ...was, ...changes }));
  const save = async (): Promise<void> => {
    const bodyOf = (of: typeof wish) => ({
      name: of.name.trim(),
      ...(canHaveLimits(item.role) ? { limits: limitsOf(of.limits), weight: Number(of.weight) } : {}),
    });
    await sendChanges(bodyOf(began), bodyOf(wish), async (changes) => {
      // The API takes all limits of a key at once: those that somebody else has set since the page was read stay.
      const now =
        changes.limits === undefined ? undefined : (await api.keys.list()).keys.find(({ id }) => id === item.id);
      const merged = now && { limits: limitsOf(withChanged(began.limits, limits, fieldsOf(now.limits))) };
      return api.keys.edit(item.id, { ...changes, ...merged });
    });
    tell(`“${name.trim()}” is changed.`);
    onDone();
  };
  return (
    <Confirm
      title={`Edit “${item.name}”`}
      action="Save"
      isReady={name.trim() !== ""}
      onConfirm={save}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onInput={(value) => change({ name: value })} isRequired autoFocus />
      {canHaveLimits(item.role) ? (
        <>
          <WeightField weight={weight} onInput={(value) => change({ weight: value })} />
          <LimitFields limits={limits} onInput={(value) => change({ limits: value })} isOpen />
        </>
      ) : (
        <p class="hint">A {item.role} key creates no jobs, so it has no limits.</p>
      )}
    </Confirm>
  );
};

const GRACES: readonly (readonly [string, string])[] = [
  ["0", "ends at once"],
  ["300", "works for 5 more minutes"],
  ["3600", "works for one more hour"],
  ["86400", "works for one more day"],
];

interface KeyDialogProps {
  item: KeyResource;
  onClose: () => void;
}

export const RotateDialog = ({ item, onMade, onClose }: KeyDialogProps & { onMade: (answer: KeyAnswer) => void }) => {
  const [grace, setGrace] = useState("0");
  const rotate = async (): Promise<void> => {
    onMade(await api.keys.rotate(item.id, { grace_seconds: Number(grace) }));
  };
  return (
    <Confirm title={`Rotate “${item.name}”?`} action="Rotate" isDestructive onConfirm={rotate} onClose={onClose}>
      <p>
        It gets a new secret. Everyone who uses the old one must change to the new one. Sessions opened with the old
        secret end.
      </p>
      <SelectField label="The old secret" value={grace} options={GRACES} onInput={setGrace} />
    </Confirm>
  );
};

export const RevokeDialog = ({ item, onDone, onClose }: KeyDialogProps & { onDone: () => void }) => (
  <Confirm
    title={`Revoke “${item.name}”?`}
    action="Revoke"
    isDestructive
    onConfirm={async () => {
      await api.keys.revoke(item.id);
      tell(`“${item.name}” is revoked.`);
      onDone();
    }}
    onClose={onClose}
  >
    <p>Its next request fails and its connections close. This cannot be undone.</p>
  </Confirm>
);
