// The dialogs of keys. The secret exists only in the dialog that shows it.

import { useState } from "preact/hooks";
import type { KeyAnswer, KeyResource } from "../../contract/key.ts";
import { api } from "../api.ts";
import { tell } from "../state/notice.ts";
import { Confirm, Dialog } from "./dialog.tsx";
import { Choice, SelectField, TextField } from "./form.tsx";
import { copy } from "./text-block.tsx";

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

interface Limits {
  readonly requests_per_minute: string;
  readonly concurrent: string;
  readonly day_usd: string;
  readonly month_usd: string;
  readonly models: string;
}

const NO_LIMITS: Limits = { requests_per_minute: "", concurrent: "", day_usd: "", month_usd: "", models: "" };
const FIGURES: readonly (readonly [keyof Limits, string])[] = [
  ["requests_per_minute", "Requests per minute"],
  ["concurrent", "Open jobs at the same time"],
  ["day_usd", "Dollars per day"],
  ["month_usd", "Dollars per month"],
];

/** Only limits that are filled in; null if none is. */
const limitsOf = (limits: Limits): KeyResource["limits"] => {
  const figures = FIGURES.filter(([name]) => limits[name].trim() !== "").map(([name]) => [name, Number(limits[name])]);
  const models = limits.models
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
  if (figures.length === 0 && models.length === 0) return null;
  return { ...Object.fromEntries(figures), ...(models.length === 0 ? {} : { models }) };
};

const LimitFields = ({ limits, onInput }: { limits: Limits; onInput: (limits: Limits) => void }) => (
  <details class="more">
    <summary>Limits</summary>
    <div class="field-row">
      {FIGURES.map(([name, label]) => (
        <TextField
          key={name}
          label={label}
          type="number"
          value={limits[name]}
          onInput={(value) => onInput({ ...limits, [name]: value })}
        />
      ))}
    </div>
    <TextField
      label="Models"
      hint="Separated by commas; * matches any characters. Empty for all."
      value={limits.models}
      onInput={(models) => onInput({ ...limits, models })}
    />
  </details>
);

/** The limits of a key, in words. */
export const limitsInWords = (limits: KeyResource["limits"]): string => {
  if (limits === null) return "";
  const figures = FIGURES.filter(([name]) => limits[name] != null).map(
    ([name, label]) => `${limits[name]} ${label.toLowerCase()}`,
  );
  return [...figures, ...(limits.models == null ? [] : [`models ${limits.models.join(", ")}`])].join(" · ");
};

export const CreateKeyDialog = ({ onMade, onClose }: { onMade: (answer: KeyAnswer) => void; onClose: () => void }) => {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("worker");
  const [limits, setLimits] = useState(NO_LIMITS);
  const given = limitsOf(limits);
  const create = async (): Promise<void> =>
    onMade(await api.keys.create({ name: name.trim(), role, ...(given === null ? {} : { limits: given }) }));
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
      <Choice<Role> label="Role" value={role} options={ROLES} onInput={setRole} />
      <p class="hint">{MAY[role]}</p>
      {role !== "worker" && role !== "viewer" && <LimitFields limits={limits} onInput={setLimits} />}
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

export const SecretDialog = ({ answer, onClose }: { answer: KeyAnswer; onClose: () => void }) => (
  <Dialog title={`Key “${answer.name}”`} onClose={onClose}>
    <p>Copy it now: it is not shown again.</p>
    <p class="secret">
      <code>{answer.key}</code>
    </p>
    <div class="dialog-foot">
      <button type="button" class="button" onClick={() => copy(answer.key)}>
        Copy
      </button>
      <button type="button" class="button primary" onClick={onClose}>
        I have saved it
      </button>
    </div>
  </Dialog>
);
