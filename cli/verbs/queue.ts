// What waits, what failed, and which worker would get a job.

import { PRIORITIES, TIERS } from "../../contract/words/values.ts";
import { UsageError } from "../failure.ts";
import { when } from "../terminal/when.ts";
import { GROUP_COLUMNS } from "../top.ts";
import type { Verb } from "../verb.ts";
import { REQUIREMENTS } from "./requirements.ts";
import { SINCE_UNTIL } from "./span.ts";

const queue: Verb = {
  name: "queue",
  says: "Lists what waits and why",
  examples: ["queue", "queue --json"],
  run: async ({ client, output, signal }) => {
    const found = await client().jobs.queue({ signal });
    output.table(found, found.groups, [{ title: "jobs", of: ({ count }) => count }, ...GROUP_COLUMNS]);
  },
};

const failures: Verb = {
  name: "failures",
  says: "Lists what failed, by error and provider",
  examples: ["failures", "failures --since 24h"],
  flags: SINCE_UNTIL,
  run: async ({ client, output, signal }, input) => {
    const found = await client().jobs.failures(input.times("since", "until"), { signal });
    output.table(found, found.failures, [
      { title: "jobs", of: ({ count }) => count },
      { title: "before", of: ({ previous_count }) => previous_count },
      { title: "code", of: ({ code }) => code },
      { title: "provider", of: ({ provider }) => provider },
      { title: "model", of: ({ model }) => model },
      { title: "last", of: ({ last_at }) => when(last_at) },
      { title: "message", of: ({ message }) => message },
    ]);
  },
};

/** The workers of a large fleet do not fit on a screen; the best and the closest come first. */
const EXPLAINED_WORKERS = 50;

const explain: Verb = {
  name: "explain",
  says: "Shows which worker would get such a job, and why the others would not",
  examples: ["explain --tag gpu --model llama3.2", "explain --job job_1"],
  flags: {
    ...REQUIREMENTS,
    job: { takes: "id", says: "explains this waiting job instead" },
    limit: { takes: "n", says: `the number of eligible and of refused workers to list (${EXPLAINED_WORKERS})` },
  },
  run: async ({ client, output, signal }, input) => {
    const job = input.text("job");
    if (job !== undefined && Object.keys(REQUIREMENTS).some((flag) => input.is(flag)))
      throw new UsageError("--job explains the job as it is: leave out the other flags but --limit");
    const urgency = input.choice("priority", PRIORITIES);
    const tier = input.choice("tier", TIERS);
    const tags = input.texts("tag").join(",");
    const limit = input.number("limit") ?? EXPLAINED_WORKERS;
    const asked =
      job === undefined ? { ...input.given("provider", "model"), job_tags: tags, urgency, tier } : { job_id: job };
    const found = await client().jobs.explain({ ...asked, limit }, { signal });
    output.table(found, found.workers, [
      { title: "worker", of: ({ instance }) => instance },
      { title: "provider", of: ({ provider }) => provider },
      { title: "eligible", of: ({ eligible }) => (eligible ? "yes" : "no") },
      { title: "score", of: ({ score }) => score?.toFixed(1) },
      { title: "why not", of: ({ reasons }) => reasons.join("; ") },
    ]);
    if (found.workers.length < found.total)
      output.say(`${found.workers.length} of ${found.total} workers are listed; --limit lists more.`);
    output.say(
      found.selected === null
        ? ["No worker would get it.", ...found.notes].join(" ")
        : `${found.selected} would get it.`,
    );
  },
};

export const queueCommands: readonly Verb[] = [queue, failures, explain];
