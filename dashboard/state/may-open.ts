// Who may open which page, by its address. What leads to a page asks the same: the navigation, tabs, the palette.

import { computed, type ReadonlySignal } from "@preact/signals";
import { entryOf } from "../../contract/words/values.ts";
import { isAdmin, isPerson, mayOperate } from "./session.ts";

/** A person has keys of the own, whatever the role. */
const hasKeys = computed(() => isAdmin.value || isPerson.value);

/** Pages that not everybody may open: a viewer would find only refusals on those of operators. */
const READERS: Readonly<Record<string, ReadonlySignal<boolean>>> = {
  "jobs/new": mayOperate,
  playground: mayOperate,
  "schedules/~new": mayOperate,
  "schedules/*/edit": mayOperate,
  "fleet/~add": isAdmin,
  catalog: isAdmin,
  "catalog/*": isAdmin,
  "settings/keys": hasKeys,
  "settings/sign-in": isAdmin,
  "settings/people": isAdmin,
  "settings/webhooks": isAdmin,
  "settings/audit": isAdmin,
};

export const mayOpen = (page: string): boolean => entryOf(READERS, page)?.value ?? true;
