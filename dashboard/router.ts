// Where the reader is: the part of the address behind `#`, so that every view is a link and any static server serves it.
// Shape: `#/jobs/<id>?tab=x`; filters live in the address too, so that a view can be sent to a colleague.

import { batch, computed, signal } from "@preact/signals";

export interface Place {
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
/** Names the entry of the browser's history that is shown; the same again when Back returns to it. */
export const entry = signal(0);
/** Whether Back or Forward led here. */
export const isReturn = signal(false);
/** Changes when another page is shown, not when a filter changes. */
export const pagePath = computed(() => place.value.segments.join("/"));

export const href = (segments: readonly string[], query: Record<string, string | null | undefined> = {}): string => {
  const given = Object.entries(query).filter((pair): pair is [string, string] => !!pair[1]);
  const tail = given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  return `#/${segments.map(encodeURIComponent).join("/")}${tail}`;
};

export const go = (address: string): void => {
  location.hash = address;
};

/** Changes the filters of the page shown; no new entry in the history for each key typed. */
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
