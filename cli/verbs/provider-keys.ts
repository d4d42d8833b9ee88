// Keys of hosted providers that the coordinator calls itself.

import { UsageError } from "../failure.ts";
import { readKey } from "../read-key.ts";
import { when } from "../terminal/when.ts";
import type { Verb } from "../verb.ts";

const PROVIDER = { name: "provider", says: "its name in the catalog, such as openai" };

export const providerKeyCommands: readonly Verb[] = [
  {
    name: "provider-keys list",
    says: "Lists the providers that the coordinator has a key for",
    examples: ["provider-keys list"],
    run: async ({ client, output, signal }) => {
      const found = await client().providerKeys.list({ signal });
      output.table(found, found.keys, [
        { title: "provider", of: ({ provider }) => provider },
        { title: "source", of: ({ source }) => source },
        { title: "set", of: ({ set_at }) => when(set_at) },
        { title: "by", of: ({ set_by }) => set_by },
      ]);
    },
  },
  {
    name: "provider-keys set",
    says: "Sets a provider's key, read from stdin: provider-keys set openai < key",
    examples: ["provider-keys set openai < openai.key"],
    args: [PROVIDER],
    run: async ({ client, output, signal }, input) => {
      const key = await readKey(output, signal);
      if (key === null) throw new UsageError("give the key on stdin: provider-keys set openai < key");
      await client().providerKeys.set(input.arg("provider"), key, { signal });
      output.say(`The key for ${input.arg("provider")} is set.`);
    },
  },
  {
    name: "provider-keys remove",
    says: "Removes a provider's key",
    examples: ["provider-keys remove openai"],
    args: [PROVIDER],
    run: async ({ client, output, signal }, input) => {
      await client().providerKeys.remove(input.arg("provider"), { signal });
      output.say(`The key for ${input.arg("provider")} is removed.`);
    },
  },
];
