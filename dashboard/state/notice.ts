// Short messages about the last action. An error stays until it is dismissed.

import { signal } from "@preact/signals";
import { printableLines } from "../../contract/text/printable.ts";
import { withLocalTimes } from "../format.ts";
import { session, whenUserChanges } from "./session.ts";

interface Notice {
  readonly id: number;
  readonly tone: "done" | "failed";
  readonly text: string;
}

const SHOWN_MS = 5000;
const MAX_NOTICES = 4;
let lastId = 0;

export const notices = signal<readonly Notice[]>([]);

export const dismiss = (id: number): void => {
  notices.value = notices.value.filter((notice) => notice.id !== id);
};

/** Where there are too many, the oldest goes that would go by itself. */
const bounded = (all: readonly Notice[]): readonly Notice[] => {
  if (all.length <= MAX_NOTICES) return all;
  const passing = all.findIndex(({ tone }) => tone === "done");
  return all.toSpliced(Math.max(0, passing), 1);
};

/** A person's role comes from the identity provider, perhaps by signing in elsewhere. */
whenUserChanges((hasOtherRole) => {
  notices.value = [];
  if (hasOtherRole) add("failed", `Your role is now ${session.peek()?.role}: the page shows what it may do.`);
});

const add = (tone: Notice["tone"], text: string): void => {
  lastId += 1;
  const id = lastId;
  // Its sentences name what others have named, which may turn the direction of writing.
  notices.value = bounded([...notices.value, { id, tone, text: printableLines(text) }]);
  if (tone === "done") setTimeout(() => dismiss(id), SHOWN_MS);
};

export const tell = (text: string): void => add("done", text);
export const tellError = (error: unknown): void => add("failed", withLocalTimes((error as Error).message));

const underWay = new Set<string>();

/**
 * Runs the action and reports it; returns whether it worked. `what`: the action and what it is for. A second press while
 * the first has no answer yet does nothing.
 */
export const attempt = async (what: string, work: () => Promise<unknown>, done: string): Promise<boolean> => {
  if (underWay.has(what)) return false;
  underWay.add(what);
  try {
    await work();
    tell(done);
    return true;
  } catch (error) {
    tellError(error);
    return false;
  } finally {
    underWay.delete(what);
  }
};
