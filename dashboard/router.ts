// The current page: the part of the address behind `#`, so that every view is a link and any static server works. Form:
// `#/jobs/<id>?tab=x`. Filters are in the address too, so a view can be shared.

import { batch, computed, signal } from "@preact/signals";

interface Place {
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

export const parsePlace = (hash: string): Place => {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  return { segments: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
};

const hash = signal(globalThis.location?.hash ?? "");
export const place = computed(() => parsePlace(hash.value));
/** Identifies the current entry of the browser's history; the same value again after Back. */
export const entry = signal(0);
/** Whether Back or Forward led here. */
export const isReturn = signal(false);
/** Changes with the page, not with its filters. */
export const pagePath = computed(() => place.value.segments.join("/"));

export const href = (segments: readonly string[], query: Record<string, string | null | undefined> = {}): string => {
  const given = Object.entries(query).filter((pair): pair is [string, string] => !!pair[1]);
  const tail = given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  return `#/${segments.map(encodeURIComponent).join("/")}${tail}`;
};

export const go = (address: string): void => {
  location.hash = address;
};

/** Changes the filters of the current page without a new history entry per key press. */
export const refine = (changes: Record<string, string | null>): void => {
  const { segments, query } = place.peek();
  const next = { ...Object.fromEntries(query), ...changes };
  history.replaceState(history.state, "", href(segments, next));
  hash.value = location.hash;
};

const arrive = (): void =>
  batch(() => {
    const known = (history.state as { entry?: number } | null)?.entry;
    isReturn.value = known !== undefined && known !== entry.value;
    if (known === undefined) {
      entry.value = Math.max(entry.value + 1, Date.now());
      history.replaceState({ entry: entry.value }, "");
    } else entry.value = known;
    hash.value = location.hash;
  });

export const followAddress = (): void => {
  addEventListener("hashchange", arrive);
  arrive();
};
