// What the known workers offer, for the suggestions of forms and of the search line.

import { computed } from "@preact/signals";
import { splitTags } from "../format.ts";
import { workers } from "./board.ts";

const sorted = (values: Iterable<string>): readonly string[] => [...new Set(values)].filter(Boolean).sort();

export const offered = computed(() => {
  const fleet = [...workers.value.values()];
  return {
    instances: sorted(fleet.map(({ instance }) => instance)),
    providers: sorted(fleet.map(({ provider }) => provider)),
    models: sorted(fleet.flatMap(({ models }) => models ?? [])),
    tags: sorted(fleet.flatMap(({ tags }) => splitTags(tags))),
  };
});
