// A checker must have found something before it can be trusted: one small correct run, and for each promise a way to
// break it.

import { expect, test } from "vitest";
import type { JobEventResource, JobResource } from "../../contract/jobs/job.ts";
import type { Evidence, JobEvidence } from "./evidence.ts";
import { type Entry, History } from "./history.ts";
import { findViolations, INVARIANTS } from "./invariants.ts";

const MARK = "w/j1/1/5";
const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

const event = (second: number, type: string, lease: number): JobEventResource => ({
  at: at(second),
  type,
  worker: "w",
  lease,
  detail: null,
});

/** Only the fields that the checks read. */
const job = (fields: Partial<JobResource>): JobResource => fields as JobResource;

interface Facts {
  readonly entries: Entry[];
  readonly jobs: Map<string, { -readonly [Field in keyof JobEvidence]: JobEvidence[Field] }>;
  runs: Evidence["runs"];
  spentNanoUsd: number;
}

const healthy = (): Facts => {
  const done = job({ status: "completed", prompt: "p1", lease: 1, result: { mark: MARK }, schedule: null });
  const ticked = job({ status: "cancelled", prompt: "tick", lease: 0, result: null, schedule: "tick" });
  const timeline = ["job.created", "job.assigned", "job.started", "job.completed"];
  const report = { kind: "report", worker: "w", jobId: "j1", lease: 1, mark: MARK, costNanoUsd: 7 } as const;
  const run = { scheduled_for: at(0), ran_at: at(0), outcome: "created", reason: null, job_status: null } as const;
  return {
    entries: [
      { kind: "create", key: "k1", prompts: ["p1"], jobIds: null, code: null },
      { kind: "create", key: "k1", prompts: ["p1"], jobIds: ["j1"], code: null },
      { kind: "create", key: "k2", prompts: ["p2"], jobIds: null, code: "no_eligible_workers" },
      { kind: "handed", worker: "w", jobId: "j1", lease: 1 },
      { ...report, verb: "complete", outcome: "ok" },
      { kind: "read", reader: "c", jobId: "j1", job: { status: "completed", lease: 1, prompt: "p1" } },
    ],
    jobs: new Map([
      [
        "j1",
        { id: "j1", listed: done, read: done, events: timeline.map((type, i) => event(i, type, i === 0 ? 0 : 1)) },
      ],
      [
        "j2",
        { id: "j2", listed: ticked, read: ticked, events: [event(0, "job.created", 0), event(1, "job.cancelled", 0)] },
      ],
    ]),
    runs: [{ ...run, job_id: "j2", missed: 0 }],
    spentNanoUsd: 7,
  };
};

const judge = ({ entries, ...facts }: Facts): string[] => {
  const history = new History();
  for (const entry of entries) history.add(entry);
  return findViolations({ history, ...facts }).map(({ invariant }) => invariant);
};

const jobOf = (facts: Facts, id: string) => {
  const found = facts.jobs.get(id);
  if (found === undefined) throw new Error(`there is no job ${id}`);
  return found;
};

const alter = (facts: Facts, id: string, fields: Partial<JobResource>): void => {
  const found = jobOf(facts, id);
  found.read = found.listed = job({ ...found.read, ...fields });
};

const LATE_REPORT = { kind: "report", worker: "z", jobId: "j1", lease: 1, costNanoUsd: 0 } as const;

const BREAKS: Record<string, (facts: Facts) => unknown> = {
  "every acknowledged job can be read": (facts) => {
    jobOf(facts, "j1").read = null;
  },
  "every job has the prompt it was created with": (facts) => alter(facts, "j1", { prompt: "other" }),
  "an idempotency key makes one job": (facts) => {
    facts.jobs.set("j3", { ...jobOf(facts, "j1"), id: "j3" });
  },
  "a refused call leaves no job": (facts) => alter(facts, "j1", { prompt: "p2" }),
  "only a lack of workers and the killswitch refuse a valid call": (facts) =>
    facts.entries.push({ kind: "create", key: "k3", prompts: ["p3"], jobIds: null, code: "idempotency_key_reused" }),
  "a batch is made whole or not at all": (facts) =>
    facts.entries.push({ kind: "create", key: null, prompts: ["p1", "p9"], jobIds: null, code: null }),
  "every job ends in a final state": (facts) => alter(facts, "j2", { status: "running" }),
  "a job's timeline has lawful steps and leases": (facts) => {
    jobOf(facts, "j1").events = [...jobOf(facts, "j1").events, event(9, "job.completed", 1)];
  },
  "the list agrees with single reads": (facts) => {
    jobOf(facts, "j1").listed = job({ ...jobOf(facts, "j1").read, lease: 2 });
  },
  "a lease is handed to one worker": (facts) =>
    facts.entries.push({ kind: "handed", worker: "other", jobId: "j1", lease: 1 }),
  "a completion that was answered is never taken back": (facts) => alter(facts, "j1", { result: { mark: "other" } }),
  "a report does what it was answered": (facts) =>
    facts.entries.push({ ...LATE_REPORT, verb: "complete", mark: "m", outcome: "lease_lost" }),
  "what was read does not go back": (facts) =>
    facts.entries.push({ kind: "read", reader: "c", jobId: "j1", job: { status: "pending", lease: 0, prompt: "p1" } }),
  "nothing is assigned while the killswitch is on": (facts) =>
    facts.entries.push({ kind: "halt", answeredAt: Date.parse(at(0)), clearedAt: Date.parse(at(2)) }),
  "cost counts each attempt once": (facts) => {
    facts.spentNanoUsd *= 2;
  },
  "a due time makes one job": (facts) => {
    facts.runs = [...facts.runs, ...facts.runs];
  },
  "no call and no process breaks": (facts) =>
    facts.entries.push({ kind: "broken", call: "GET /health", status: 500, body: "" }),
};

test("a run in which every promise was kept is judged so", () => {
  expect(judge(healthy())).toEqual([]);
});

test.each(INVARIANTS.map(([name]) => name))("it is noticed where this is broken: %s", (name) => {
  const facts = healthy();
  const breakIt = BREAKS[name];
  if (breakIt === undefined) throw new Error(`no way to break "${name}" is written down`);
  breakIt(facts);
  expect(judge(facts)).toContain(name);
});

test("a failure refused for a lost lease that still failed the job is noticed", () => {
  const facts = healthy();
  facts.entries.push({ ...LATE_REPORT, verb: "fail", mark: "m", outcome: "lease_lost" });
  const detail = { code: "broken", message: "m" };
  jobOf(facts, "j1").events = [...jobOf(facts, "j1").events, { ...event(9, "job.failed", 1), detail }];
  expect(judge(facts)).toContain("a report does what it was answered");
});
