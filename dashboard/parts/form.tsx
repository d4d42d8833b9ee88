// Form fields: label, hint and error are linked to each by id.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string | null | undefined;
  class?: string;
}

interface TextProps extends FieldProps {
  value: string;
  onInput: (value: string) => void;
  rows?: number;
  type?: InputKind;
  isCode?: boolean;
  isRequired?: boolean;
  placeholder?: string;
  suggestions?: readonly string[];
  autoFocus?: boolean;
}

const Frame = ({
  id,
  label,
  hint,
  error,
  class: extra = "",
  children,
}: FieldProps & { id: string; children: ComponentChildren }) => (
  <div class={`field ${extra}`}>
    <label for={id}>{label}</label>
    {children}
    {hint !== undefined && !error && (
      <p class="hint" id={`${id}-says`}>
        {hint}
      </p>
    )}
    {error && (
      <p class="field-error" id={`${id}-says`}>
        {error}
      </p>
    )}
  </div>
);

type Typed = { currentTarget: HTMLInputElement | HTMLTextAreaElement };
type InputKind = "text" | "number" | "url" | "datetime-local";

export const TextField = ({
  value,
  onInput,
  rows,
  type = "text",
  isCode,
  isRequired,
  placeholder,
  suggestions,
  autoFocus,
  ...frame
}: TextProps) => {
  const id = useId();
  const shared = {
    id,
    value,
    required: isRequired === true,
    spellcheck: false,
    autocomplete: "off" as const,
    class: isCode ? "code" : "",
    // Words of another direction are written in their own; a code's first word says nothing of the code.
    dir: isCode ? undefined : ("auto" as const),
    placeholder: placeholder ?? "",
    autofocus: autoFocus === true,
    "aria-invalid": frame.error ? true : undefined,
    "aria-describedby": frame.hint !== undefined || frame.error ? `${id}-says` : undefined,
    onInput: (event: Typed) => onInput(event.currentTarget.value),
  };
  const hasList = suggestions !== undefined && suggestions.length > 0;
  return (
    <Frame id={id} {...frame}>
      {rows === undefined ? (
        <input
          {...shared}
          type={type}
          step={type === "number" ? "any" : undefined}
          list={hasList ? `${id}-list` : undefined}
        />
      ) : (
        <textarea {...shared} rows={rows} />
      )}
      {hasList && (
        <datalist id={`${id}-list`}>
          {suggestions.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </Frame>
  );
};

export const SelectField = ({
  value,
  onInput,
  options,
  ...frame
}: FieldProps & {
  value: string;
  onInput: (value: string) => void;
  options: readonly (readonly [value: string, label: string])[];
}) => {
  const id = useId();
  return (
    <Frame id={id} {...frame}>
      <select
        id={id}
        value={value}
        aria-describedby={frame.hint !== undefined || frame.error ? `${id}-says` : undefined}
        onChange={(event) => onInput(event.currentTarget.value)}
      >
        {options.map(([option, label]) => (
          <option key={option} value={option} selected={option === value}>
            {label}
          </option>
        ))}
      </select>
    </Frame>
  );
};

/** A choice of a few, all visible. */
export const Choice = <Value extends string>({
  label,
  value,
  options,
  onInput,
}: {
  label: string;
  value: Value;
  options: readonly (readonly [value: Value, label: string])[];
  onInput: (value: Value) => void;
}) => {
  const name = useId();
  return (
    <fieldset class="choice">
      <legend>{label}</legend>
      <div class="choice-row">
        {options.map(([option, says]) => (
          <label key={option} class={option === value ? "chosen" : ""}>
            <input
              type="radio"
              name={name}
              value={option}
              checked={option === value}
              onChange={() => onInput(option)}
            />
            {says}
          </label>
        ))}
      </div>
    </fieldset>
  );
};

export const Check = ({
  label,
  hint,
  value,
  onInput,
}: {
  label: string;
  hint?: string;
  value: boolean;
  onInput: (value: boolean) => void;
}) => (
  <label class="check">
    <input type="checkbox" checked={value} onChange={(event) => onInput(event.currentTarget.checked)} />
    <span>
      {label}
      {hint !== undefined && <span class="hint">{hint}</span>}
    </span>
  </label>
);
