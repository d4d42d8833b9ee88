// A key's limits: as form fields, as the API takes them, and as text.

import type { KeyResource } from "../../contract/access/key.ts";
import { count, usd } from "../format.ts";
import { TextField } from "../parts/form.tsx";
import { changesOf } from "../parts/send-changes.ts";

type KeyLimits = NonNullable<KeyResource["limits"]>;

const FIGURES = [
  ["requests_per_minute", "Requests per minute"],
  ["tokens_per_minute", "Tokens per minute"],
  ["concurrent", "Open jobs at the same time"],
  ["max_waiting", "Waiting jobs at the same time"],
  ["day_usd", "Dollars per day"],
  ["month_usd", "Dollars per month"],
] as const satisfies readonly (readonly [keyof KeyLimits, string])[];
const FIGURES_OF_USERS = [
  ["requests_per_minute", "Requests of each user per minute"],
  ["tokens_per_minute", "Tokens of each user per minute"],
  ["concurrent", "Open jobs of each user"],
  ["day_usd", "Dollars of each user per day"],
] as const satisfies readonly (readonly [keyof NonNullable<KeyLimits["per_user"]>, string])[];

type Figure = (typeof FIGURES)[number][0];
type FigureOfUsers = (typeof FIGURES_OF_USERS)[number][0];

type Limits = Readonly<Record<Figure, string>> & {
  readonly perUser: Readonly<Record<FigureOfUsers, string>>;
  readonly models: string;
  /** Not in the form; it stays as it is. */
  readonly edge: boolean | null;
};

/** Only these roles create jobs, and limits apply where jobs are created. */
export const canHaveLimits = (role: KeyResource["role"]): boolean => role !== "worker" && role !== "viewer";

const textsOf = <Name extends string>(
  figures: readonly (readonly [Name, string])[],
  given: Partial<Record<Name, unknown>> | null | undefined,
): Record<Name, string> =>
  Object.fromEntries(figures.map(([name]) => [name, `${given?.[name] ?? ""}`])) as Record<Name, string>;

const figuresOf = <Name extends string>(
  figures: readonly (readonly [Name, string])[],
  texts: Readonly<Record<Name, string>>,
): Record<string, number> =>
  Object.fromEntries(
    figures.filter(([name]) => texts[name].trim() !== "").map(([name]) => [name, Number(texts[name])]),
  );

/** The limits of a key as form fields. */
export const fieldsOf = (limits: KeyResource["limits"]): Limits => ({
  ...textsOf(FIGURES, limits),
  perUser: textsOf(FIGURES_OF_USERS, limits?.per_user),
  models: limits?.models?.join(", ") ?? "",
  edge: limits?.edge ?? null,
});

export const NO_LIMITS = fieldsOf(null);

/** Only those that are filled in; null if none is. */
export const limitsOf = (limits: Limits): KeyResource["limits"] => {
  const perUser = figuresOf(FIGURES_OF_USERS, limits.perUser);
  const models = limits.models
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
  const given = {
    ...figuresOf(FIGURES, limits),
    ...(Object.keys(perUser).length === 0 ? {} : { per_user: perUser }),
    ...(models.length === 0 ? {} : { models }),
    ...(limits.edge === null ? {} : { edge: limits.edge }),
  };
  return Object.keys(given).length === 0 ? null : given;
};

/** What is there now, with the fields that differ from those that a form began with. */
export const withChanged = (began: Limits, edited: Limits, now: Limits): Limits => ({
  ...now,
  ...changesOf(began, edited),
  perUser: { ...now.perUser, ...changesOf(began.perUser, edited.perUser) },
});

export const LimitFields = ({
  limits,
  onInput,
  isOpen = false,
}: {
  limits: Limits;
  onInput: (limits: Limits) => void;
  isOpen?: boolean;
}) => (
  <details class="more" open={isOpen}>
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
    <p class="hint">Users are those that its requests name (X-Signalbox-User, user, fairness_key):</p>
    <div class="field-row">
      {FIGURES_OF_USERS.map(([name, label]) => (
        <TextField
          key={name}
          label={label}
          type="number"
          value={limits.perUser[name]}
          onInput={(value) => onInput({ ...limits, perUser: { ...limits.perUser, [name]: value } })}
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

export const WeightField = ({ weight, onInput }: { weight: string; onInput: (weight: string) => void }) => (
  <TextField
    label="Weight"
    hint="How much of what is served its jobs get beside those of other keys: 0.01 to 100."
    type="number"
    value={weight}
    onInput={onInput}
  />
);

const figureInWords = (name: string, label: string, value: number): string =>
  name.endsWith("_usd") ? label.replace("Dollars", usd(value)) : `${count(value)} ${label.toLowerCase()}`;

const figuresInWords = <Name extends string>(
  figures: readonly (readonly [Name, string])[],
  given: { readonly [name in Name]?: number | null | undefined } | null | undefined,
): string[] =>
  figures.flatMap(([name, label]) => {
    const value = given?.[name] ?? null;
    return value === null ? [] : [figureInWords(name, label, value)];
  });

/** The limits of a key, as text. */
export const limitsInWords = (limits: KeyResource["limits"]): string => {
  if (limits === null) return "";
  const models = limits.models == null ? [] : [`models ${limits.models.join(", ")}`];
  const figures = [...figuresInWords(FIGURES, limits), ...figuresInWords(FIGURES_OF_USERS, limits.per_user)];
  return [...figures, ...models].join(" · ");
};
