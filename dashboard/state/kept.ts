// A choice that this browser keeps: it survives a reload. Without storage it lasts as long as the page.

import { type Signal, signal } from "@preact/signals";
import { parseJson } from "../../contract/text/json-object.ts";
import { keepText, keptText } from "./storage.ts";

/** A word stands as it is, the rest as JSON. */
const read = (name: string): unknown => {
  const found = keptText("localStorage", name);
  return found !== null && /^[[{]/.test(found) ? parseJson(found) : found;
};

interface Kept<Value> {
  readonly chosen: Signal<Value>;
  readonly choose: (next: Value) => void;
}

/** `isValid`: an older release may have stored something else. */
export const kept = <Value>(name: string, first: Value, isValid: (found: unknown) => found is Value): Kept<Value> => {
  const found = read(`signalbox.${name}`);
  const chosen = signal<Value>(isValid(found) ? found : first);
  const choose = (next: Value): void => {
    chosen.value = next;
    keepText("localStorage", `signalbox.${name}`, typeof next === "string" ? next : JSON.stringify(next));
  };
  return { chosen, choose };
};

export const isOneOf =
  <Value extends string>(values: readonly Value[]) =>
  (found: unknown): found is Value =>
    values.includes(found as Value);
