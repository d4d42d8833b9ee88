// `signalbox explain` asks for as many workers as a screen shows.

import { expect, it } from "vitest";
import { Output } from "../../cli/output.ts";
import { parse } from "../../cli/parse.ts";
import type { Context } from "../../cli/verb.ts";
import { VERBS } from "../../cli/verbs.ts";

const silent = { write: () => undefined, isTerminal: false };

it.each([
  [["--tag", "gpu"], { job_tags: "gpu", limit: 50 }],
  [["--job", "j1", "--limit", "3"], { job_id: "j1", limit: 3 }],
])("explain %j asks for %j", async (flags, asked) => {
  const queries: unknown[] = [];
  const explain = async (query: unknown) => {
    queries.push(query);
    return { workers: [], selected: null, notes: [] };
  };
  const context = {
    client: () => ({ jobs: { explain } }),
    output: new Output({ out: silent, err: silent, isJson: true, hasColour: false }),
    signal: AbortSignal.timeout(1_000),
  } as unknown as Context;
  const found = parse(["explain", ...flags], VERBS);
  if (found.kind !== "run") throw new Error("not run");
  await found.verb.run(context, found.input);
  expect(queries).toEqual([expect.objectContaining(asked)]);
});
