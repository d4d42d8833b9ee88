// A key's limits: as form fields, as the API takes them, and as text.

import type { KeyResource } from "../../contract/key.ts";
import { TextField } from "../parts/form.tsx";

export interface Limits {
  readonly requests_per_minute: string;
  readonly concurrent: string;
  readonly day_usd: string;
  readonly month_usd: string;
  readonly models: string;
}

export const NO_LIMITS: Limits = { requests_per_minute: "", concurrent: "", day_usd: "", month_usd: "", models: "" };
const FIGURES: readonly (readonly [keyof Limits, string])[] = [
  ["requests_per_minute", "Requests per minute"],
  ["concurrent", "Open jobs at the same time"],
  ["day_usd", "Dollars per day"],
  ["month_usd", "Dollars per month"],
];

/** Only these roles create jobs, and limits apply where jobs are created. */
export const canHaveLimits = (role: KeyResource["role"]): boolean => role !== "worker" && role !== "viewer";

/** The limits of a key as form fields. */
export const fieldsOf = (limits: KeyResource["limits"]): Limits => ({
  requests_per_minute: `${limits?.requests_per_minute ?? ""}`,
  concurrent: `${limits?.concurrent ?? ""}`,
  day_usd: `${limits?.day_usd ?? ""}`,
  month_usd: `${limits?.month_usd ?? ""}`,
  models: limits?.models?.join(", ") ?? "",
});

/** Only those that are filled in; null if none is. */
export const limitsOf = (limits: Limits): KeyResource["limits"] => {
  const figures = FIGURES.filter(([name]) => limits[name].trim() !== "").map(([name]) => [name, Number(limits[name])]);
  const models = limits.models
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
  if (figures.length === 0 && models.length === 0) return null;
  return { ...Object.fromEntries(figures), ...(models.length === 0 ? {} : { models }) };
};

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
    <TextField
      label="Models"
      hint="Separated by commas; * matches any characters. Empty for all."
      value={limits.models}
      onInput={(models) => onInput({ ...limits, models })}
    />
  </details>
);

/** The limits of a key, as text. */
export const limitsInWords = (limits: KeyResource["limits"]): string => {
  if (limits === null) return "";
  const figures = FIGURES.filter(([name]) => limits[name] != null).map(
    ([name, label]) => `${limits[name]} ${label.toLowerCase()}`,
  );
  return [...figures, ...(limits.models == null ? [] : [`models ${limits.models.join(", ")}`])].join(" · ");
};
