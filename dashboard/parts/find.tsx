// Finding one of the items of a list that is read whole: a field, and as many rows as a page can show.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count } from "../format.ts";
import { TextField } from "./form.tsx";

/** Rows shown at once, and those that a link leads to; the field finds the others. */
const MAX_SHOWN = 200;
/** As many are seen at a glance. */
const FEW = 20;

interface Finding<Item> {
  readonly field: ComponentChildren;
  readonly shown: readonly Item[];
  /** What is not shown, in words. */
  readonly more: ComponentChildren;
}

export const useFind = <Item,>(
  items: readonly Item[],
  what: string,
  textOf: (item: Item) => string,
  isLinked: (item: Item) => boolean = () => false,
): Finding<Item> => {
  const [sought, setSought] = useState("");
  const words = sought.toLowerCase();
  const found = items.filter((item) => textOf(item).toLowerCase().includes(words));
  const shown = found.filter((item, at) => at < MAX_SHOWN || isLinked(item));
  const hidden = found.length - shown.length;
  return {
    field: items.length > FEW && (
      <search class="filters">
        <TextField label={`Find among ${count(items.length)} ${what}`} value={sought} onInput={setSought} />
      </search>
    ),
    shown,
    more: (
      <>
        {hidden > 0 && <p class="dim">{count(hidden)} more: find them by name.</p>}
        {found.length === 0 && <p class="dim">None of them is called “{sought}”.</p>}
      </>
    ),
  };
};
