// Keys.

import type { KeyAnswer } from "../../contract/access/key.ts";
import { ROLES } from "../../contract/words/values.ts";
import { UsageError } from "../failure.ts";
import type { Output } from "../output.ts";
import { when } from "../terminal/when.ts";
import type { Verb } from "../verb.ts";
import { LIMIT_FLAGS, limitsFrom } from "./key-limits.ts";

/** Prints only the key to stdout, so that a script can store it. */
const showSecret = (output: Output, answer: KeyAnswer): void => {
  output.say(`Key "${answer.name}" (${answer.role}, id ${answer.id}). It is shown only once:`);
  output.value(answer, answer.key);
};

export const keyCommands: readonly Verb[] = [
  {
    name: "keys list",
    says: "Lists all keys of the tenant",
    examples: ["keys list"],
    run: async ({ client, output, signal }) => {
      const found = await client().keys.list({ signal });
      output.table(found, found.keys, [
        { title: "id", of: ({ id }) => id },
        { title: "role", of: ({ role }) => role },
        { title: "weight", of: ({ weight }) => weight },
        { title: "created", of: ({ created_at }) => when(created_at) },
        { title: "last used", of: ({ last_used_at }) => when(last_used_at) },
        { title: "revoked", of: ({ revoked_at }) => when(revoked_at) },
        { title: "name", of: ({ name }) => name },
      ]);
    },
  },
  {
    name: "keys create",
    says: "Creates a key, which is shown only once",
    examples: [
      'keys create "gpu box"',
      "keys create monitoring --role viewer > viewer.key",
      "keys create chat --role client --tokens-per-minute 50000 --user-concurrent 2",
    ],
    args: [{ name: "name", says: "who uses it; the audit log shows this name" }],
    flags: { role: { takes: ROLES.join("|"), says: "the key's role (worker)" }, ...LIMIT_FLAGS },
    run: async ({ client, output, signal }, input) => {
      const role = input.choice("role", ROLES) ?? "worker";
      const asked = { name: input.arg("name"), role, ...limitsFrom(input) };
      showSecret(output, await client().keys.create(asked, { signal }));
    },
  },
  {
    name: "keys limit",
    says: "Changes a key's limits and weight; those that are not given stay, `none` takes one away",
    examples: [
      "keys limit key_1 --weight 3",
      "keys limit key_1 --max-waiting 100 --user-requests-per-minute 20",
      "keys limit key_1 --day-usd none",
    ],
    args: [{ name: "id", says: "the key's id" }],
    flags: LIMIT_FLAGS,
    run: async ({ client, output, signal }, input) => {
      const id = input.arg("id");
      const { keys } = await client().keys.list({ signal });
      const before = keys.find((key) => key.id === id)?.limits ?? null;
      const changes = limitsFrom(input, before);
      if (Object.keys(changes).length === 0) throw new UsageError("give at least one limit, or --weight");
      const changed = await client().keys.edit(id, changes, { signal });
      output.value(changed, "");
      output.say(`Key ${id}: weight ${changed.weight}, limits ${JSON.stringify(changed.limits ?? {})}.`);
    },
  },
  {
    name: "keys rotate",
    says: "Replaces a key's secret",
    examples: ["keys rotate key_1", "keys rotate key_1 --grace 3600"],
    args: [{ name: "id", says: "the key's id" }],
    flags: { grace: { takes: "seconds", says: "seconds for which the old secret still works (0)" } },
    run: async ({ client, output, signal }, input) =>
      showSecret(
        output,
        await client().keys.rotate(input.arg("id"), { grace_seconds: input.number("grace") ?? 0 }, { signal }),
      ),
  },
  {
    name: "keys revoke",
    says: "Revokes a key at once",
    examples: ["keys revoke key_1"],
    args: [{ name: "id", says: "the key's id" }],
    run: async ({ client, output, signal }, input) => {
      await client().keys.revoke(input.arg("id"), { signal });
      output.say(`Key ${input.arg("id")} is revoked.`);
    },
  },
];
