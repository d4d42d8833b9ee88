// Keys.

import type { KeyAnswer } from "../../contract/key.ts";
import { ROLES } from "../../contract/values.ts";
import type { Output } from "../output.ts";
import type { Verb } from "../verb.ts";
import { when } from "../when.ts";

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
    examples: ['keys create "gpu box"', "keys create monitoring --role viewer > viewer.key"],
    args: [{ name: "name", says: "who uses it; the audit log shows this name" }],
    flags: { role: { takes: ROLES.join("|"), says: "the key's role (worker)" } },
    run: async ({ client, output, signal }, input) => {
      const role = input.choice("role", ROLES) ?? "worker";
      showSecret(output, await client().keys.create({ name: input.arg("name"), role }, { signal }));
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
