// What was typed in a form or a dialog when its session ends: kept in this tab, and given back once, only to the same
// user. Who signs out leaves nothing, and what is kept goes as soon as somebody else signs in. No secret is kept.

import { computed, effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { session } from "./session.ts";
import { readHint } from "./session-hint.ts";
import { keepJson, keptJson } from "./storage.ts";

const KEPT_AS = "signalbox.form-drafts";

interface Kept {
  readonly owner: string;
  readonly drafts: Readonly<Record<string, unknown>>;
}

const read = (): Kept | null => keptJson("sessionStorage", KEPT_AS) as Kept | null;

const write = (kept: Kept | null): void => keepJson("sessionStorage", KEPT_AS, kept);

/** By ids: two keys may have one name. */
const owner = computed(() => {
  const who = session.value;
  return who ? JSON.stringify([who.tenant, who.key_id, who.person?.id]) : null;
});
let last: string | null = null;

effect(() => {
  if (owner.value === null) {
    if (readHint() === "out") write(null);
    return;
  }
  last = owner.value;
  if (read()?.owner !== last) write(null);
});

/** Keeps it only if the session has ended and the user has not signed out, or while the session is renewed. */
export const keepDraft = (form: string, draft: unknown): void => {
  if (session.peek() || last === null || readHint() === "out") return;
  const before = read();
  write({ owner: last, drafts: { ...(before?.owner === last ? before.drafts : {}), [form]: draft } });
};

export const takeDraft = <Value>(form: string): Value | null => {
  const kept = read();
  if (kept === null || kept.owner !== owner.peek() || !Object.hasOwn(kept.drafts, form)) return null;
  const { [form]: draft, ...rest } = kept.drafts;
  write({ ...kept, drafts: rest });
  return draft as Value;
};

interface Drafted<Value> {
  readonly began: Value;
  readonly draft: Value;
}

/**
 * The state of a form, which outlives its session, and what it began with: the page may read that again meanwhile, and
 * somebody else may have changed it. `form` is its name as long as it is shown.
 */
export const useDraft = <Value>(form: string, first: Value) => {
  const [{ began, draft: given }] = useState<Drafted<Value>>(
    () => takeDraft<Drafted<Value>>(form) ?? { began: first, draft: first },
  );
  const [draft, setDraft] = useState(given);
  const newest = useRef(draft);
  newest.current = draft;
  useEffect(
    () => () => {
      if (newest.current !== began) keepDraft(form, { began, draft: newest.current } satisfies Drafted<Value>);
    },
    [],
  );
  return [draft, setDraft, began] as const;
};
