// A choice that this browser keeps: it survives a reload. Without storage it lasts as long as the page.

import { type Signal, signal } from "@preact/signals";

const read = (name: string): unknown => {
  try {
    const found = localStorage.getItem(name);
    // A word stands as it is, the rest as JSON.
    return found === null || !/^[[{]/.test(found) ? found : JSON.parse(found);
  } catch {
    return null;
  }
};

export interface Kept<Value> {
  readonly chosen: Signal<Value>;
  readonly choose: (next: Value) => void;
}

/** `isValid`: an older release may have stored something else. */
export const kept = <Value>(name: string, first: Value, isValid: (found: unknown) => found is Value): Kept<Value> => {
  const found = read(`signalbox.${name}`);
  const chosen = signal<Value>(isValid(found) ? found : first);
  const choose = (next: Value): void => {
    chosen.value = next;
    try {
      localStorage.setItem(`signalbox.${name}`, typeof next === "string" ? next : JSON.stringify(next));
    } catch {
      // It lasts until the page is closed.
    }
  };
  return { chosen, choose };
};

export const isOneOf =
  <Value extends string>(values: readonly Value[]) =>
  (found: unknown): found is Value =>
    values.includes(found as Value);
