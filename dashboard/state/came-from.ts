// The list in which a job was opened, so that its page leads to the next and the previous one. It outlives a reload, not
// its user.

import { signal } from "@preact/signals";
import type { QueryOf } from "../../contract/client/transport.ts";
import type { JobListQuery } from "../../contract/jobs/job-list.ts";
import { api } from "../api.ts";
import { whenUserChanges } from "./session.ts";
import { keepJson, keptJson } from "./storage.ts";

/** Of a list of several pages: how to read on. */
export interface Beyond {
  readonly query: QueryOf<Omit<JobListQuery, "offset" | "cursor">>;
  /** The cursor behind the last id; null if it is the list's last. */
  readonly next: string | null;
  /** How many of the list come before the first id. */
  readonly offset: number;
  readonly total: number;
}

interface JobListPlace {
  /** The list's own address, behind the page's. */
  readonly address: string;
  readonly ids: readonly string[];
  readonly beyond: Beyond | null;
}

const KEPT_AS = "signalbox.list";

const isPlace = (value: unknown): value is JobListPlace => {
  const { address, ids, beyond } = (value ?? {}) as Partial<JobListPlace>;
  return typeof address === "string" && address.startsWith("#/") && Array.isArray(ids) && beyond !== undefined;
};

const read = (): JobListPlace | null => {
  const kept = keptJson("sessionStorage", KEPT_AS);
  return isPlace(kept) ? kept : null;
};

export const cameFrom = signal<JobListPlace | null>(read());

const keep = (place: JobListPlace | null): void => {
  cameFrom.value = place;
  keepJson("sessionStorage", KEPT_AS, place);
};

export const openedFrom = (ids: readonly string[], beyond: Beyond | null): void =>
  keep({ address: location.hash, ids, beyond });

/** A list that somebody goes through for hours stays small: what is far behind is forgotten, and read again. */
const MAX_IDS = 1_000;
/** Nothing of the texts is shown. */
const NO_TEXTS = { max_chars: 1 };

/** The next page's jobs behind those that are known; the first of them, if any. */
export const readOn = async (): Promise<string | null> => {
  const list = cameFrom.peek();
  if (list?.beyond == null || list.beyond.next === null) return null;
  const { beyond, ids } = list;
  const { jobs, next_cursor: next } = await api.jobs.list({ ...beyond.query, ...NO_TEXTS, cursor: beyond.next });
  const read = jobs.map(({ id }) => id).filter((id) => !ids.includes(id));
  const all = [...ids, ...read];
  const gone = Math.max(0, all.length - MAX_IDS);
  keep({ ...list, ids: all.slice(gone), beyond: { ...beyond, next, offset: beyond.offset + gone } });
  return read[0] ?? null;
};

/** The page's jobs before those that are known; the last of them, if any. */
export const readBack = async (): Promise<string | null> => {
  const list = cameFrom.peek();
  if (list?.beyond == null || list.beyond.offset === 0) return null;
  const { beyond, ids } = list;
  const offset = Math.max(0, beyond.offset - (beyond.query.limit ?? ids.length));
  const limit = beyond.offset - offset;
  const { jobs } = await api.jobs.list({ ...beyond.query, ...NO_TEXTS, offset, limit });
  // Jobs that came meanwhile have moved the list on.
  const read = jobs.map(({ id }) => id).filter((id) => !ids.includes(id));
  keep({ ...list, ids: [...read, ...ids], beyond: { ...beyond, offset } });
  return read.at(-1) ?? null;
};

whenUserChanges(() => keep(null));
