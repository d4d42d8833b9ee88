// Where the reader is: the part of the address behind `#`, so that every view is a link and any static server serves it.
// Shape: `#/jobs/<id>?tab=x`; filters live in the address too, so that a view can be sent to a colleague.

import { computed, signal } from "@preact/signals";

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
  history.replaceState(null, "", href(segments, next));
  hash.value = location.hash;
};

export const followAddress = (): void => {
  addEventListener("hashchange", () => {
    hash.value = location.hash;
  });
  hash.value = location.hash;
};
