// The audit log.

import { when } from "../terminal/when.ts";
import type { Verb } from "../verb.ts";
import { PAGE_FLAGS, showPages } from "./pages.ts";
import { SINCE_UNTIL } from "./span.ts";

export const auditCommand: Verb = {
  name: "audit",
  says: "Lists who changed what, newest first",
  examples: ["audit --since 24h", "audit --action key --actor alice", "audit --target gpu-1 --all --json"],
  flags: {
    action: { takes: "name", says: "only this action, such as key.revoked, or all of a kind: key" },
    actor: { takes: "name", says: "only what this key or person did, by name or id" },
    target: { takes: "name", says: "only what was done to this" },
    ...SINCE_UNTIL,
    ...PAGE_FLAGS,
  },
  run: async ({ client, output, signal }, input) => {
    const filter = { ...input.given("action", "actor", "target"), ...input.times("since", "until") };
    const read = (limit: number | null) => client().audit.list({ ...filter, limit }, { signal });
    await showPages(output, input, "entries", read, [
      { title: "at", of: ({ at }) => when(at) },
      { title: "actor", of: ({ actor }) => actor.name },
      { title: "action", of: ({ action }) => action },
      { title: "target", of: ({ target }) => target },
      { title: "detail", of: ({ detail }) => detail },
    ]);
  },
};
