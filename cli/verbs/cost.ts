// What the work costs.

import { ApiProblem } from "../../contract/client/problem.ts";
import { PERIODS } from "../../contract/words/values.ts";
import { UsageError } from "../failure.ts";
import { exactUsd } from "../terminal/usd.ts";
import type { Context, Verb } from "../verb.ts";

const BY = ["provider", "model", "tag", "metadata.<name>", "key", "worker", "schedule"];

/** What keys are called, by id. Only an admin may list them: others see the ids alone. */
const keyNames = async ({ client, signal }: Context): Promise<ReadonlyMap<string | null, string>> => {
  try {
    const { keys } = await client().keys.list({ signal });
    return new Map(keys.map(({ id, name }) => [id, name]));
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 403) return new Map();
    throw error;
  }
};

export const costCommand: Verb = {
  name: "cost",
  says: "Shows cost by provider, or by what --by names",
  examples: ["cost --period month", "cost --by tag --period week", "cost --by metadata.team --from 30d"],
  flags: {
    period: { takes: PERIODS.join("|"), says: "today, this week or this month in UTC (day)" },
    from: {
      takes: "time",
      says: "start of the span, instead of a period: RFC 3339, or a span back from now, such as 30d",
    },
    to: { takes: "time", says: "end of the span" },
    by: { takes: BY.join("|"), says: "what to group by" },
  },
  run: async (context, input) => {
    const { client, output, signal } = context;
    const period = input.choice("period", PERIODS);
    const by = input.text("by");
    const span = { period: input.is("from") ? undefined : period, ...input.times("from", "to") };
    if (input.is("from") && period !== undefined) throw new UsageError("give --period, or --from and --to");
    if (by !== undefined) {
      const found = await client().cost.by(by, span, { signal });
      const names = by === "key" ? await keyNames(context) : new Map();
      output.table(found, found.rows, [
        { title: by, of: ({ value }) => value ?? "(none)" },
        { title: "usd", of: (row) => exactUsd(row.usd) },
        { title: "jobs", of: ({ jobs }) => jobs },
        { title: "unpriced", of: ({ unpriced_jobs }) => unpriced_jobs },
        ...(names.size > 0 ? [{ title: "name", of: ({ value }: { value: string | null }) => names.get(value) }] : []),
      ]);
      return output.say(`${found.from} to ${found.to}: $${exactUsd(found.total_usd)}`);
    }
    const found = await client().cost.byProvider(span, { signal });
    output.table(found, found.providers, [
      { title: "provider", of: ({ provider }) => provider },
      { title: "usd", of: (row) => exactUsd(row.usd) },
      { title: "jobs", of: ({ jobs }) => jobs },
      { title: "unpriced", of: ({ unpriced_jobs }) => unpriced_jobs },
      { title: "models", of: ({ models }) => models.map(({ model }) => model) },
    ]);
    output.say(`${found.from} to ${found.to}: $${exactUsd(found.total_usd)}`);
  },
};
