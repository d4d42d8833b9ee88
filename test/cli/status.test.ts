// `status`: what it makes of a service's state.

import { expect, it } from "vitest";
import { runCommand } from "./run-command.ts";

const NOTHING = { count: 0, p50: null, p95: null, p99: null };
const BUDGET = { day_usd: null, month_usd: null, day_spent_usd: 0, month_spent_usd: 0, reached: false };
const STATES = { failing: 0, offline: 0, paused: 0, unavailable: 0, busy: 0, online: 0, idle: 1, unconfirmed: 0 };

const WELL: Readonly<Record<string, object>> = {
  "/health": { status: "ok", version: "1.2.3" },
  "/session": { tenant: "acme" },
  "/killswitch": { active: false, level: 0, reason: null, activated_by: null },
  "/api/workers": { workers: [], total: 2, summary: { states: STATES, providers: [{ places: 4, load: 1 }] } },
  "/api/queue": { groups: [], total: 0, delayed: 0 },
  "/api/latency": { total: { jobs: 90, queue_wait_ms: { ...NOTHING, p95: 1200 }, run_ms: NOTHING } },
  "/api/failures": { failures: [] },
  "/api/cost": { total_usd: 1.5, budget: { ...BUDGET, reached_at_pace: null }, provider_budgets: [] },
};

const status = async (changes: Readonly<Record<string, object>> = {}) => {
  const answers: Readonly<Record<string, object>> = { ...WELL, ...changes };
  const { out, code } = await runCommand(["status", "--json"], ({ pathname }) => answers[pathname] ?? {});
  const { ok, checks } = JSON.parse(out) as { ok: boolean; checks: { what: string; verdict: string; says: string }[] };
  return { ok, code, of: (what: string) => checks.find((one) => one.what === what) };
};

it("is well where nothing is wrong", async () => {
  const { ok, code, of } = await status();
  expect([ok, code]).toEqual([true, 0]);
  expect(of("workers")?.says).toBe("2 online, 1 of 4 places in use");
  expect(of("waits")?.says).toBe("p95 of the last hour: wait 1.2 s");
  expect(of("cost")?.says).toBe("$1.50 today, no budget");
});

const waiting = (minutes: number) => ({
  groups: [{ oldest_at: new Date(Date.now() - minutes * 60_000).toISOString(), reason: 'no worker offers tag "gpu"' }],
  total: 3,
  delayed: 2,
});
const failed = (count: number) => ({ failures: [{ code: "timeout", count }] });
const offline = { workers: [], total: 2, summary: { states: { ...STATES, offline: 2 }, providers: [] } };
const paused = { workers: [], total: 2, summary: { states: { ...STATES, paused: 2 }, providers: [] } };
const lame = { workers: [], total: 2, summary: { states: { ...STATES, unavailable: 1 }, providers: [] } };
const cost = (budget: object) => ({
  total_usd: 1,
  budget: { ...BUDGET, reached_at_pace: null, ...budget },
  provider_budgets: [],
});

it.each([
  [
    "a halt",
    "/killswitch",
    { active: true, level: 4, reason: "drill", activated_by: "ada" },
    "killswitch",
    "bad",
    "level 4 by ada: drill",
  ],
  [
    "a disk that fills",
    "/health",
    { version: "1", warnings: ["the disk has only 900 MiB left"] },
    "service",
    "warning",
    "only 900 MiB",
  ],
  [
    "a full disk",
    "/health",
    { version: "1", warnings: ["the disk is full: new jobs are refused until space is freed"] },
    "service",
    "bad",
    "new jobs are refused",
  ],
  ["no worker online", "/api/workers", offline, "workers", "bad", "none of 2 is online: start one with"],
  ["all workers paused", "/api/workers", paused, "workers", "bad", "2 paused"],
  ["a runtime that is down", "/api/workers", lame, "workers", "warning", "1 unavailable"],
  [
    "a job that waits long",
    "/api/queue",
    waiting(6),
    "queue",
    "warning",
    'no worker offers tag "gpu"; 2 may not run yet',
  ],
  ["a job that waits a moment", "/api/queue", waiting(1), "queue", "good", "3 jobs waiting"],
  ["one failure of many", "/api/failures", failed(1), "errors", "good", "1 job failed"],
  ["one failure in ten", "/api/failures", failed(10), "errors", "warning", "(10 %), most as timeout"],
  ["more failures than answers", "/api/failures", failed(91), "errors", "bad", "91 jobs failed"],
  [
    "a reached budget",
    "/api/cost",
    cost({ day_usd: 5, day_spent_usd: 5, reached: true }),
    "cost",
    "bad",
    "$5.00 of $5.00 today",
  ],
  ["a budget nearly spent", "/api/cost", cost({ month_usd: 5, month_spent_usd: 4 }), "cost", "warning", "this month"],
  ["a budget half spent", "/api/cost", cost({ month_usd: 5, month_spent_usd: 2 }), "cost", "good", "$2.00 of $5.00"],
] as const)("%s is seen", async (_what, path, answer, row, verdict, says) => {
  const { ok, code, of } = await status({ [path]: answer });
  expect(of(row)).toMatchObject({ verdict, says: expect.stringContaining(says) });
  expect([ok, code]).toEqual(verdict === "bad" ? [false, 1] : [true, 0]);
});

it("says what it cannot read, and the rest all the same", async () => {
  const problem = { code: "forbidden", title: "Forbidden", detail: "this key may not read cost", status: 403 };
  const refused = Response.json(problem, { status: 403, headers: { "content-type": "application/problem+json" } });
  const { of } = await status({ "/api/cost": refused });
  expect(of("cost")).toMatchObject({ verdict: "bad", says: "cannot be read: this key may not read cost" });
  expect(of("queue")?.verdict).toBe("good");
});

it("says what does not answer, and waits for nothing else", async () => {
  const never = new Promise<object>(() => {});
  const { code, of } = await status({ "/api/cost": never });
  expect([code, of("cost")?.says, of("queue")?.says]).toEqual([1, "no answer within 4 s", "nothing waits"]);
});
