// The columns that history is searched by follow a job's record through each change that is sent to history.

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { readArchived } from "../../domain/job/job-record.ts";
import { columnsOf } from "../support/history-columns.ts";
import { newWorld, type World } from "../support/workerd/client.ts";
import { present } from "../support/workerd/job-steps.ts";

/** History's columns of a job, and what its record there says they are. */
const storedAndRecorded = async (world: World, id: string) => {
  await world.stub.drain();
  const row = await env.DB.prepare("SELECT * FROM jobs WHERE tenant = ? AND id = ?")
    .bind(world.tenant, id)
    .first<Record<string, string | number | null>>();
  const { tenant: _tenant, id: _id, seq: _seq, record: _record, ...all } = row ?? {};
  const { prompt: _prompt, input: _input, result: _result, events: _events, ...columns } = all;
  const job = readArchived(row as never);
  return { columns, recorded: columnsOf(job) };
};

test("each column is what the record says, from a job's creation over its failure and its retry to its end", async () => {
  const world = await newWorld();
  const { id } = await world.ok("POST", "/api/jobs", { prompt: "x", tags: ["one"], metadata: { team: "blue" } });
  const path = `/api/jobs/${id}`;
  const spent = { usage: { input_tokens: 1, output_tokens: 2 } };
  const error = { code: "refused", message: "the model refused", retryable: false };
  const steps: [string, () => Promise<unknown>][] = [
    ["created", async () => undefined],
    ["assigned", () => present(world, "w", { tags: "one,two" })],
    ["started", () => world.ok("POST", `${path}/start`, { lease: 1 })],
    ["changed", () => world.ok("PATCH", path, { tags: ["two"] })],
    ["failed", () => world.ok("POST", `${path}/fail`, { lease: 1, error, cost_usd: 0.5, ...spent })],
    ["retried", () => world.ok("POST", `${path}/retry`)],
    ["done", () => world.ok("POST", `${path}/complete`, { lease: 2, result: 1, cost_usd: 0.25, model: "m", ...spent })],
  ];
  const seen: Record<string, unknown>[] = [];
  for (const [step, take] of steps) {
    await take();
    const { columns, recorded } = await storedAndRecorded(world, id);
    expect([step, columns]).toEqual([step, recorded]);
    seen.push(columns);
  }
  const [created, , , changed, failed, , done] = seen;
  expect(created).toMatchObject({ status: "pending", worker: null, cost_nano_usd: null, finished_at: null });
  expect(failed).toMatchObject({ error_code: "refused", cost_nano_usd: 5e8, ran_provider: "openai", worker: "w" });
  expect(done).toMatchObject({ error_code: null, error_message: null, cost_nano_usd: 25e7, ran_model: "m" });
  expect(changed?.labels).not.toBe(created?.labels);
});
