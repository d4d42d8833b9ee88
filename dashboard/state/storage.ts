// What this browser keeps: `localStorage` for all its tabs, `sessionStorage` for one. Without storage, or for a text that
// is too long for it, nothing is kept, and the page works as at a first visit.

import { parseJson } from "../../contract/text/json-object.ts";

type Storage = "localStorage" | "sessionStorage";

/** Null if nothing is kept under this name. */
export const keptText = (storage: Storage, name: string): string | null => {
  try {
    return globalThis[storage]?.getItem(name) ?? null;
  } catch {
    return null;
  }
};

/** Null if nothing is kept under this name, or no JSON. */
export const keptJson = (storage: Storage, name: string): unknown =>
  parseJson(keptText(storage, name) ?? "null") ?? null;

/** null: it is forgotten. */
export const keepText = (storage: Storage, name: string, text: string | null): void => {
  try {
    if (text === null) globalThis[storage].removeItem(name);
    else globalThis[storage].setItem(name, text);
  } catch {
    // As the header says.
  }
};

export const keepJson = (storage: Storage, name: string, value: unknown): void =>
  keepText(storage, name, value === null ? null : JSON.stringify(value));
