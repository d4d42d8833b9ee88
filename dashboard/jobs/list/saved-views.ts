// Named views of the jobs page, saved in this browser for each tenant. A view is the address's query.

import { signal } from "@preact/signals";
import { session } from "../../state/session.ts";
import { keepJson, keptJson } from "../../state/storage.ts";

export interface View {
  readonly name: string;
  /** The part of the address behind `?`. */
  readonly query: string;
}

const MAX_VIEWS = 30;

/** The views that everyone has. */
export const GIVEN_VIEWS: readonly View[] = [
  { name: "Failed in the last hour", query: "status=failed&range=1h" },
  { name: "Waiting longest", query: "status=pending&sort=-created_at" },
  { name: "Running now", query: "status=running" },
];

const keyOf = (): string => `signalbox.views.${session.peek()?.tenant ?? ""}`;

const read = (): readonly View[] => {
  const stored = keptJson("localStorage", keyOf());
  if (!Array.isArray(stored)) return [];
  return stored.filter((one): one is View => typeof one?.name === "string" && typeof one?.query === "string");
};

export const savedViews = signal<readonly View[]>([]);

export const readViews = (): void => {
  savedViews.value = read();
};

/** Without storage a view lasts as long as the page; its address can still be bookmarked. */
const write = (views: readonly View[]): void => {
  savedViews.value = views;
  keepJson("localStorage", keyOf(), views);
};

/** Replaces a view of the same name. */
export const saveView = (view: View): void =>
  write([...read().filter(({ name }) => name !== view.name), view].slice(-MAX_VIEWS));

export const forgetView = (name: string): void => write(read().filter((one) => one.name !== name));
