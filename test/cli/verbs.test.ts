// What commands say and refuse beside what the service answers.

import { describe, expect, it } from "vitest";
import { UsageError } from "../../cli/failure.ts";
import { Output } from "../../cli/output.ts";
import { parse } from "../../cli/parse.ts";
import type { Context } from "../../cli/verb.ts";
import { VERBS } from "../../cli/verbs.ts";

/** What a command writes, on a client whose calls all give this answer. */
const run = async (argv: readonly string[], answer: object): Promise<{ out: string; err: string }> => {
  const said = { out: "", err: "" };
  const sink = (name: keyof typeof said) => ({
    isTerminal: false,
    write: (text: string) => {
      said[name] += text;
    },
  });
  const noun = new Proxy({}, { get: () => async () => answer });
  const context = {
    client: () => new Proxy({}, { get: () => noun }),
    output: new Output({ out: sink("out"), err: sink("err"), isJson: false, hasColour: false }),
    signal: AbortSignal.timeout(1_000),
  } as unknown as Context;
  const found = parse(argv, VERBS);
  if (found.kind !== "run") throw new Error("not run");
  await found.verb.run(context, found.input);
  return said;
};

describe("a list of which only the newest part is shown", () => {
  const job = { id: "j1", status: "pending", assigned_worker: null, created_at: "", prompt: "hi", error: null };

  it.each([
    [["jobs", "list"], "jobs", job, "The newest 1 of 260; --all lists every page.\n"],
    [["schedules", "history", "s"], "history", {}, "The newest 1 of 260.\n"],
    [["catalog", "history", "s"], "history", {}, "The newest 1 of 260.\n"],
    [["webhooks", "deliveries", "w"], "deliveries", {}, "The newest 1 of 260.\n"],
  ])("says so: %j", async (argv, rows, row, says) => {
    const { out, err } = await run(argv, { [rows]: [row], total: 260 });
    expect(err).toBe(says);
    expect(out.split("\n")).toHaveLength(2);
    expect((await run(argv, { [rows]: [row], total: 1 })).err).toBe("");
  });
});

describe("what would do something else than it says", () => {
  it.each([
    [["killswitch", "on", "0", "--reason", "calm"], "killswitch off"],
    [["explain", "--job", "j1", "--tag", "gpu"], "leave out the other flags"],
  ])("is wrong usage: %j", async (argv, says) => {
    await expect(run(argv, {})).rejects.toThrow(says);
    await expect(run(argv, {})).rejects.toThrow(UsageError);
  });
});
