// Which attempt's stream a client gets, however long its first token takes.

import { expect, test } from "vitest";
import type { JobStatus } from "../../domain/words/job-status.ts";
import type { Followed } from "../../durable-objects/operations/front-door/follow.ts";
import { type BeginTools, beginStream } from "../../src/front-door/answer/begin-stream.ts";

const job = (status: JobStatus, lease = 1): Followed => ({
  id: "j",
  api: "chat/completions",
  stream: true,
  status,
  lease,
  worker: status === "pending" ? null : `w${lease}`,
  provider: null,
  model: null,
  isFallback: false,
  error: null,
  result: null,
  answerFile: null,
  isSessionHit: null,
  hasFirstToken: false,
  retryAfterMs: null,
});

interface Attached {
  readonly lease: number;
  readonly begin: (text: string) => void;
  readonly isLetGo: () => boolean;
}

/** A tenant that answers with each of `states` in turn, and then no more. */
const stage = (states: readonly Followed[]) => {
  const attached: Attached[] = [];
  const left = [...states];
  const asked: Followed[] = [];
  const tools: BeginTools = {
    watch: (from) => {
      asked.push(from);
      const next = left.shift();
      return next === undefined ? new Promise(() => undefined) : Promise.resolve(next);
    },
    attach: ({ lease }) => {
      const begun = Promise.withResolvers<ReadableStream<Uint8Array>>();
      let isLetGo = false;
      const begin = (text: string): void => {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
          cancel: () => {
            isLetGo = true;
          },
        });
        begun.resolve(body);
      };
      attached.push({ lease, begin, isLetGo: () => isLetGo });
      return begun.promise;
    },
    lateMs: 10,
  };
  return { tools, attached, asked };
};

const passed = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

test("a first token that takes many looks at the job is read from the one stream that was opened", async () => {
  const looks = Array.from({ length: 12 }, () => job("running"));
  const { tools, attached, asked } = stage(looks);
  const beginning = beginStream(job("assigned"), tools);
  await passed();
  expect(asked.length).toBe(13);
  expect(attached.map(({ lease }) => lease)).toEqual([1]);
  attached[0]?.begin("first");
  expect(await beginning).toMatchObject({ kind: "events", job: { lease: 1 } });
  expect(attached.length).toBe(1);
});

test("an attempt's stream is opened before its job is watched: its events may come at once", async () => {
  const { tools } = stage([]);
  const order: string[] = [];
  const noting = {
    ...tools,
    watch: (from: Followed) => {
      order.push("watch");
      return tools.watch(from);
    },
    attach: (to: Followed) => {
      order.push("attach");
      return tools.attach(to);
    },
  };
  void beginStream(job("assigned"), noting);
  expect(order).toEqual(["attach", "watch"]);
});

test("the stream of an attempt that was left for another is let go, so that nobody counts it as unread", async () => {
  const { tools, attached } = stage([job("running", 1), job("pending", 1), job("assigned", 2)]);
  const beginning = beginStream(job("assigned"), tools);
  await passed();
  expect(attached.map(({ lease }) => lease)).toEqual([1, 2]);
  attached[0]?.begin("too late");
  attached[1]?.begin("true");
  const first = await beginning;
  expect(first).toMatchObject({ kind: "events", job: { lease: 2 } });
  await passed();
  expect(attached.map(({ isLetGo }) => isLetGo())).toEqual([true, false]);
});

test("a stream that comes after its tenant could not be asked any more is let go", async () => {
  const { tools, attached } = stage([]);
  const watch = () => Promise.reject(new Error("the tenant is away"));
  await expect(beginStream(job("assigned"), { ...tools, watch })).rejects.toThrow("the tenant is away");
  attached[0]?.begin("nobody waits");
  await passed();
  expect(attached[0]?.isLetGo()).toBe(true);
});

test("a stream that comes just after its job's report is read; one that does not is let go, and the result is told", async () => {
  const soon = stage([job("completed")]);
  const beginning = beginStream(job("assigned"), soon.tools);
  soon.attached[0]?.begin("whole");
  expect(await beginning).toMatchObject({ kind: "events" });
  const late = stage([job("completed")]);
  expect(await beginStream(job("assigned"), late.tools)).toMatchObject({ kind: "final" });
  late.attached[0]?.begin("nobody waits");
  await passed();
  expect(late.attached[0]?.isLetGo()).toBe(true);
});

test("a stored answer has no stream to wait for, unless its job has begun one", async () => {
  const stored = { ...job("completed"), answerFile: "f" };
  const whole = stage([stored]);
  const began = beginStream(job("assigned"), { ...whole.tools, lateMs: 60_000 });
  expect(await began).toMatchObject({ kind: "final" });
  const told = stage([{ ...stored, hasFirstToken: true }]);
  const beginning = beginStream(job("assigned"), { ...told.tools, lateMs: 60_000 });
  await new Promise((resolve) => setTimeout(resolve, 5));
  told.attached[0]?.begin("events");
  expect(await beginning).toMatchObject({ kind: "events" });
});

test("a job that fails after its first token gives the stream up to its failure, even if that comes later", async () => {
  const begun = stage([{ ...job("failed"), hasFirstToken: true }]);
  const beginning = beginStream(job("assigned"), begun.tools);
  await passed();
  begun.attached[0]?.begin("half");
  expect(await beginning).toMatchObject({ kind: "events", job: { status: "failed" } });
  const never = stage([job("failed")]);
  expect(await beginStream(job("assigned"), never.tools)).toMatchObject({ kind: "final", job: { status: "failed" } });
});
