// The list in which a job was opened, so that its page leads to the next and the previous one. It outlives a reload, not
// its user.

import { signal } from "@preact/signals";
import { whenUserChanges } from "./session.ts";

export interface JobListPlace {
  /** The list's own address, behind the page's. */
  readonly address: string;
  readonly ids: readonly string[];
}

const KEPT_AS = "signalbox.list";

const isPlace = (value: unknown): value is JobListPlace => {
  const { address, ids } = (value ?? {}) as Partial<JobListPlace>;
  return typeof address === "string" && address.startsWith("#/") && Array.isArray(ids);
};

const read = (): JobListPlace | null => {
  try {
    const kept: unknown = JSON.parse(globalThis.sessionStorage?.getItem(KEPT_AS) ?? "null");
    return isPlace(kept) ? kept : null;
  } catch {
    return null;
  }
};

export const cameFrom = signal<JobListPlace | null>(read());

const keep = (place: JobListPlace | null): void => {
  cameFrom.value = place;
  try {
    if (place === null) sessionStorage.removeItem(KEPT_AS);
    else sessionStorage.setItem(KEPT_AS, JSON.stringify(place));
  } catch {
    // Then a reload forgets it.
  }
};

export const openedFrom = (ids: readonly string[]): void => keep({ address: location.hash, ids });

whenUserChanges(() => keep(null));
