// Keys, config and cost.

import type { KeyAnswer } from "../../contract/key.ts";
import { PERIODS, ROLES } from "../../contract/values.ts";
import { Failure, UsageError } from "../failure.ts";
import type { Output } from "../output.ts";
import type { Verb } from "../verb.ts";

const readJson = (text: string, where: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Failure(`${where} is not JSON: ${(error as Error).message}`);
  }
};

/** Prints only the key to stdout, so that a script can store it. */
const showSecret = (output: Output, answer: KeyAnswer): void => {
  output.say(`Key "${answer.name}" (${answer.role}, id ${answer.id}). It is shown only once:`);
  output.value(answer, answer.key);
};

const keys: readonly Verb[] = [
  {
    name: "keys list",
    says: "Lists all keys of the tenant",
    run: async ({ client, output, signal }) => {
      const found = await client().keys.list({ signal });
      output.table(found, found.keys, [
        { title: "id", of: ({ id }) => id },
        { title: "role", of: ({ role }) => role },
        { title: "created", of: ({ created_at }) => created_at },
        { title: "last used", of: ({ last_used_at }) => last_used_at },
        { title: "revoked", of: ({ revoked_at }) => revoked_at },
        { title: "name", of: ({ name }) => name },
      ]);
    },
  },
  {
    name: "keys create",
    says: "Creates a key, which is shown only once",
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
    args: [{ name: "id", says: "the key's id" }],
    run: async ({ client, output, signal }, input) => {
      await client().keys.revoke(input.arg("id"), { signal });
      output.say(`Key ${input.arg("id")} is revoked.`);
    },
  },
];

const config: readonly Verb[] = [
  {
    name: "config get",
    says: "Prints the config with all defaults, as YAML or --json",
    run: async ({ client, output, signal }) => {
      const { config } = client();
      if (output.isJson) output.value((await config.get({ signal })).document, "");
      else output.value(null, (await config.getYaml({ signal })).document);
    },
  },
  {
    name: "config set",
    says: "Replaces the config; missing settings get their defaults",
    args: [{ name: "file", says: "YAML, or JSON if its name ends in .json; - reads stdin" }],
    flags: { "dry-run": { takes: null, says: "only checks it and prints the result" } },
    run: async ({ client, output, signal, readInput }, input) => {
      const file = input.arg("file");
      const text = await readInput(file);
      const { config } = client();
      const { etag } = await config.get({ signal });
      // If-Match: another change between the two calls is not overwritten.
      const options = { isDryRun: input.is("dry-run"), ifMatch: etag, signal };
      const stored = file.endsWith(".json")
        ? await config.replace(readJson(text, file) as never, options)
        : await config.replaceYaml(text, options);
      output.value(
        stored.document,
        typeof stored.document === "string" ? stored.document : JSON.stringify(stored.document, null, 2),
      );
    },
  },
];

const BY = ["provider", "model", "tag", "metadata.<name>", "key", "worker", "schedule"];

const cost: Verb = {
  name: "cost",
  says: "Shows cost by provider, or by what --by names",
  flags: {
    period: { takes: PERIODS.join("|"), says: "today, this week or this month in UTC (day)" },
    from: { takes: "time", says: "start of the span, instead of a period (RFC 3339)" },
    to: { takes: "time", says: "end of the span" },
    by: { takes: BY.join("|"), says: "what to group by" },
  },
  run: async ({ client, output, signal }, input) => {
    const period = input.choice("period", PERIODS);
    const by = input.text("by");
    const span = { period: input.is("from") ? undefined : period, ...input.given("from", "to") };
    if (input.is("from") && period !== undefined) throw new UsageError("give --period, or --from and --to");
    const usd = (value: number): string => value.toFixed(4);
    if (by !== undefined) {
      const found = await client().cost.by(by, span, { signal });
      output.table(found, found.rows, [
        { title: by, of: ({ value }) => value ?? "(none)" },
        { title: "usd", of: (row) => usd(row.usd) },
        { title: "jobs", of: ({ jobs }) => jobs },
        { title: "unpriced", of: ({ unpriced_jobs }) => unpriced_jobs },
      ]);
      return output.say(`${found.from} to ${found.to}: $${usd(found.total_usd)}`);
    }
    const found = await client().cost.byProvider(span, { signal });
    output.table(found, found.providers, [
      { title: "provider", of: ({ provider }) => provider },
      { title: "usd", of: (row) => usd(row.usd) },
      { title: "jobs", of: ({ jobs }) => jobs },
      { title: "unpriced", of: ({ unpriced_jobs }) => unpriced_jobs },
      { title: "models", of: ({ models }) => models.map(({ model }) => model) },
    ]);
    output.say(`${found.from} to ${found.to}: $${usd(found.total_usd)}`);
  },
};

export const administrationCommands: readonly Verb[] = [...keys, ...config, cost];
