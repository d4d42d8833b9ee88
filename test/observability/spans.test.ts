// What a tracing collector is told of a job that has ended: the job, and for each attempt its time in the queue and its
// run.

import { expect, test } from "vitest";
import { traceparentOf } from "../../contract/text/traceparent.ts";
import { failJob } from "../../domain/job/failure.ts";
import type { Decision, Job } from "../../domain/job/job.ts";
import { cancelJob, patchJob } from "../../domain/job/job-command.ts";
import { assignJob, completeJob, recordFirstToken, releaseJob, startJob } from "../../domain/job/lease.ts";
import { createJob, type NewJob } from "../../domain/job/new-job.ts";
import { makeReady } from "../../domain/job/queue-place.ts";
import type { JobEvent } from "../../domain/words/event.ts";
import { endedIn, type Span, spansOf, type TimelineEvent } from "../../durable-objects/history/spans.ts";
import { decided, failure, NO_POLICY, NOON, NOTHING_SPENT, REQUEST, RETRYABLE } from "../domain/job/sample-jobs.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const CALLER_SPAN = "b7ad6b7169203331";
const SECOND_MS = 1_000;

/** What the exporter reads of an event's detail. */
const asRead = (event: JobEvent): TimelineEvent => {
  const detail = event.detail as { provider?: string; code?: string; error?: { code: string } } | null;
  return { ...event, provider: detail?.provider ?? null, code: detail?.error?.code ?? detail?.code ?? null };
};

/** A job, second by second: each change is decided a second after the one before. */
const JOB_ID = "01a21f8a-741e-7136-8969-d03930df3d2b";

class Story {
  job: Job;
  nowAt = NOON;
  readonly events: JobEvent[] = [];

  constructor(asked: Partial<NewJob> = {}) {
    const created = createJob({ ...REQUEST, model: "m", ...asked }, JOB_ID, NOON);
    this.job = created.job;
    this.events.push(...created.events);
  }

  next(decide: (job: Job, nowAt: number) => Decision): this {
    this.nowAt += SECOND_MS;
    const { job, events } = decide(this.job, this.nowAt);
    this.job = job;
    this.events.push(...events);
    return this;
  }

  assigned(instance = "w1", provider = "openai"): this {
    return this.next((job, nowAt) => assignJob(job, { instance, provider }, { provider }, nowAt));
  }

  started(): this {
    return this.next((job, nowAt) => decided(startJob(job, job.lease, nowAt)));
  }

  spans(): Span[] {
    let count = 0;
    const nextId = (chars: number): string => {
      count += 1;
      return String(count).padStart(chars, "0");
    };
    return spansOf("acme", this.job, this.events.map(asRead), nextId);
  }
}

const completed = (job: Job, nowAt: number): Decision =>
  decided(completeJob(job, job.lease, { result: "a secret result", ...NOTHING_SPENT }, nowAt));

const failedWith = (error: Parameters<typeof failure>[0]) => (job: Job, nowAt: number) =>
  decided(failJob(job, job.lease, failure(error), NO_POLICY, nowAt));

/** From and to, in seconds since the job's creation. */
const secondsOf = ({ startTimeUnixNano, endTimeUnixNano }: Span): number[] =>
  [startTimeUnixNano, endTimeUnixNano].map((at) => (Number(at.slice(0, -6)) - NOON) / SECOND_MS);

const told = (span: Span | undefined): Record<string, unknown> =>
  Object.fromEntries(
    ((span?.attributes ?? []) as { key: string; value: Record<string, unknown> }[]).map(({ key, value }) => [
      key,
      value,
    ]),
  );

const SERVER = 2;
const CLIENT = 3;
const INTERNAL = 1;
const OK = { code: 1 };
const ERROR = 2;

test("a job is a span in its caller's trace, around its time in the queue and its run", () => {
  const traceparent = `00-${TRACE_ID}-${CALLER_SPAN}-01`;
  const story = new Story({ traceparent, prompt: "a secret prompt" }).assigned().started().next(completed);
  const spans = story.spans();
  const rootId = "1".padStart(16, "0");
  expect(spans.map(({ name, kind, status }) => [name, kind, status])).toEqual([
    ["signalbox job", SERVER, OK],
    ["queue", INTERNAL, OK],
    ["chat m", CLIENT, OK],
  ]);
  expect(spans.map(secondsOf)).toEqual([
    [0, 3],
    [0, 1],
    [2, 3],
  ]);
  expect(spans.map(({ traceId }) => traceId)).toEqual([TRACE_ID, TRACE_ID, TRACE_ID]);
  expect(spans.map(({ spanId }) => spanId)).toEqual([rootId, "2".padStart(16, "0"), "3".padStart(16, "0")]);
  expect(spans.map(({ parentSpanId }) => parentSpanId)).toEqual([CALLER_SPAN, rootId, rootId]);
  expect(told(spans[0])).toEqual({
    "signalbox.tenant": { stringValue: "acme" },
    "signalbox.job.id": { stringValue: JOB_ID },
    "signalbox.job.status": { stringValue: "completed" },
    "signalbox.job.attempts": { intValue: "1" },
    "signalbox.job.priority": { stringValue: "normal" },
  });
  expect(JSON.stringify(spans)).not.toContain("secret");
});

test("a job without a caller's trace begins one of its own, whose first span its worker names as the parent", () => {
  const story = new Story({ traceparent: null }).assigned().started().next(completed);
  const [root, queue] = story.spans();
  expect(`00-${root?.traceId}-${root?.spanId}-01`).toBe(traceparentOf(story.job));
  expect([root?.traceId, root?.spanId.length, root?.parentSpanId]).toEqual([JOB_ID.replaceAll("-", ""), 16, ""]);
  expect(queue).toMatchObject({ traceId: root?.traceId, parentSpanId: root?.spanId });
});

test("a run says what it spent and how soon it spoke, with the names of the conventions", () => {
  const usage = { inputTokens: 7, outputTokens: 11, cachedInputTokens: 0, reasoningTokens: 0 };
  const story = new Story({ api: "embeddings", stream: true })
    .assigned("w1", "mistral")
    .started()
    .next((job, nowAt) => decided(recordFirstToken(job, job.lease, nowAt + 500)))
    .next((job, nowAt) =>
      decided(completeJob(job, job.lease, { result: null, ...NOTHING_SPENT, usage, model: "m-2026" }, nowAt)),
    );
  const [, , run] = story.spans();
  expect(run?.name).toBe("embeddings m");
  expect(told(run)).toEqual({
    "gen_ai.operation.name": { stringValue: "embeddings" },
    "gen_ai.provider.name": { stringValue: "mistral_ai" },
    "gen_ai.request.model": { stringValue: "m" },
    "gen_ai.request.stream": { boolValue: true },
    "gen_ai.response.model": { stringValue: "m-2026" },
    "gen_ai.usage.input_tokens": { intValue: "7" },
    "gen_ai.usage.output_tokens": { intValue: "11" },
    "gen_ai.usage.cache_read.input_tokens": { intValue: "0" },
    "gen_ai.usage.reasoning.output_tokens": { intValue: "0" },
    "gen_ai.response.time_to_first_chunk": { doubleValue: 1.5 },
    "signalbox.worker": { stringValue: "w1" },
    "signalbox.outcome": { stringValue: "job.completed" },
  });
});

test("each attempt has its time in the queue and its run; only the last has the job's error and usage", () => {
  const usage = { inputTokens: 7, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 };
  const story = new Story({ model: null })
    .assigned("w1")
    .started()
    .next(failedWith(RETRYABLE))
    .next((job) => makeReady(job))
    .assigned("w2", "p2")
    .started()
    .next((job, nowAt) => decided(failJob(job, job.lease, { ...failure(), usage }, NO_POLICY, nowAt)));
  const spans = story.spans();
  expect(spans.map(({ name, status }) => [name, status])).toEqual([
    ["signalbox job", { code: ERROR, message: "bad_request" }],
    ["queue", OK],
    ["chat", { code: ERROR, message: RETRYABLE.code }],
    ["queue", OK],
    ["chat", { code: ERROR, message: "bad_request" }],
  ]);
  expect(spans.map(secondsOf)).toEqual([
    [0, 7],
    [0, 1],
    [2, 3],
    [3, 5],
    [6, 7],
  ]);
  const [root, , first, , last] = spans.map(told);
  expect(root).toMatchObject({ "error.type": { stringValue: "bad_request" } });
  expect([first, last].map((run) => run?.["signalbox.worker"])).toEqual([{ stringValue: "w1" }, { stringValue: "w2" }]);
  expect([first, last].map((run) => run?.["gen_ai.usage.input_tokens"])).toEqual([undefined, { intValue: "7" }]);
  const textsOf = (name: string) => [first, last].map((run) => run?.[name]);
  expect(textsOf("gen_ai.provider.name")).toEqual([{ stringValue: "openai" }, { stringValue: "p2" }]);
  expect(textsOf("error.type")).toEqual([{ stringValue: "provider_error" }, { stringValue: "bad_request" }]);
  expect(textsOf("gen_ai.response.model")).toEqual([undefined, undefined]);
  expect(last).not.toHaveProperty(["gen_ai.response.time_to_first_chunk"]);
});

test("what a job answered is told of the run that answered, not of one whose worker gave it back", () => {
  const story = new Story({ stream: true })
    .assigned("w1")
    .started()
    .next((job, nowAt) => decided(releaseJob(job, job.lease, "draining", nowAt)))
    .assigned("w2")
    .started()
    .next((job, nowAt) => decided(recordFirstToken(job, job.lease, nowAt)))
    .next(completed);
  const [, , first, , last] = story.spans();
  expect([first?.status, last?.status]).toEqual([{ code: ERROR, message: "job.released" }, OK]);
  const facts = ["gen_ai.response.model", "gen_ai.response.time_to_first_chunk"];
  for (const fact of facts) expect([fact, fact in told(first), fact in told(last)]).toEqual([fact, false, true]);
});

test("a job that is cancelled between two attempts did not run again", () => {
  const story = new Story()
    .assigned()
    .started()
    .next(failedWith(RETRYABLE))
    .next((job, nowAt) => decided(cancelJob(job, nowAt)));
  expect(story.spans().map(({ name }) => name)).toEqual(["signalbox job", "queue", "chat m"]);
});

test("a job that ends in the queue is one span, and one that its worker never started has run since its assignment", () => {
  const cancelled = (job: Job, nowAt: number) => decided(cancelJob(job, nowAt));
  const waited = new Story().next(cancelled).spans();
  expect(waited.map(({ name, status }) => [name, status])).toEqual([
    ["signalbox job", { code: ERROR, message: "cancelled" }],
  ]);
  const assigned = new Story().assigned().next(cancelled).spans();
  expect(assigned.map(secondsOf)).toEqual([
    [0, 2],
    [0, 1],
    [1, 2],
  ]);
});

test("a job is told once, when it ends, whatever is changed of it before its end reaches the collector", () => {
  const story = new Story().assigned().started();
  const { job: running, events: before } = { job: story.job, events: [...story.events] };
  story.next(failedWith({}));
  const end = story.events.slice(before.length);
  const failed = story.job;
  story.next((job, nowAt) => decided(patchJob(job, { tags: ["other"] }, nowAt)));
  const change = story.events.slice(before.length + end.length);
  expect(endedIn(before, [running])).toEqual([]);
  expect(endedIn(before, [failed])).toEqual([]);
  expect(endedIn(end, [failed])).toEqual([failed]);
  expect(endedIn([...end, ...change], [story.job])).toEqual([story.job]);
  expect(endedIn(change, [story.job])).toEqual([]);
  expect(story.spans().map(secondsOf)[0]).toEqual([0, 3]);
});

test("a job whose caller does not record its trace has no spans", () => {
  const ended = (flags: string) => {
    const story = new Story({ traceparent: `00-${TRACE_ID}-${CALLER_SPAN}-${flags}` })
      .assigned()
      .started()
      .next(completed);
    return endedIn(story.events, [story.job]).length;
  };
  expect(["00", "01", "02", "03"].map(ended)).toEqual([0, 1, 0, 1]);
});
