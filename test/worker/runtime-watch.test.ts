import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ack, createWorker, settle } from "./loop-fixture.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a worker whose runtime is away says so before it gives a job back, takes none, and comes back by itself", async () => {
  const { loop, session, runs, assign, watch, probe, state } = createWorker(2);
  ack(loop, session.sent[0]);
  assign("a");
  assign("b");
  const away = "the runtime at http://x cannot be reached: ECONNREFUSED";
  probe.mockResolvedValue({ ...state, unavailable: away });
  await runs[0]?.fail({ code: "runtime_unreachable", message: away, retryable: true }, true);
  expect(session.sent.slice(3)).toMatchObject([
    { type: "presence", unavailable: away, jobs: ["a", "b"] },
    { type: "job.released", job_id: "a" },
  ]);
  expect(loop.freeSlots()).toBe(0);
  assign("c");
  await settle();
  expect(session.of("job.released")).toMatchObject([{ job_id: "a" }, { job_id: "c", reason: away }]);
  expect(runs.length).toBe(2);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(probe.mock.calls.length).toBeGreaterThan(3);
  expect(watch.state.unavailable).toBe(away);
  probe.mockResolvedValue(state);
  await vi.advanceTimersByTimeAsync(16_000);
  expect(session.of("presence").at(-1)).not.toHaveProperty("unavailable");
  assign("d");
  await settle();
  expect(runs.length).toBe(3);
});

test("what the runtime offers stands in the presence, and a change is told at once", async () => {
  const { session, watch, probe, state } = createWorker();
  probe.mockResolvedValue({ ...state, apis: ["chat/completions"], models: ["m1"] });
  await watch.look();
  expect(session.sent.at(-1)).toMatchObject({ type: "presence", apis: ["chat/completions"], runtime_models: ["m1"] });
});

test("a streamed job says when its first word came, and ends its stream with its report", async () => {
  const { session, runs, assign, streams } = createWorker(2);
  assign("a", 3, { stream: true });
  runs[0]?.options.emit(["data: 1\n\n"]);
  runs[0]?.options.emit(["data: 2\n\n"]);
  const reported = () => session.sent.slice(1).map(({ type }) => type);
  // The word itself goes first: the report makes work for the process that passes it on.
  expect(reported()).toEqual(["job.started"]);
  await vi.advanceTimersByTimeAsync(10);
  await runs[0]?.finish("done");
  expect(reported()).toEqual(["job.started", "job.streaming", "job.completed"]);
  expect(session.of("job.completed")[0]).toMatchObject({ first_token_ms: 0 });
  expect(streams.said).toEqual(["data: 1\n\n", "data: 2\n\n", "a 3 end null"]);
});

test("a stream that ends within moments says when its first word came with its last report alone", async () => {
  const { session, runs, assign } = createWorker();
  assign("a", 1, { stream: true });
  runs[0]?.options.emit(["data: 1\n\n"]);
  await runs[0]?.finish("done");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(session.of("job.streaming")).toEqual([]);
  expect(session.of("job.completed")).toMatchObject([{ first_token_ms: 0 }]);
});

test("a reader that leaves stops the run at once; the coordinator says what becomes of the job", async () => {
  const { loop, session, runs, assign, streams } = createWorker();
  assign("a", 1, { stream: true });
  assign("b", 1, { stream: true });
  streams.whenGone.get("a")?.();
  expect(runs[0]?.options.signal.aborted).toBe(true);
  await settle();
  expect([loop.heldJobIds, session.of("job.failed")]).toEqual([["a", "b"], []]);
  loop.receive({ type: "job.halted", job_id: "a", lease: 1, reason: "cancelled" });
  expect(loop.heldJobIds).toEqual(["b"]);
  expect(runs.length).toBe(2);
  // Nobody disconnects: the worker reports itself.
  streams.whenGone.get("b")?.();
  await vi.advanceTimersByTimeAsync(11_000);
  expect(session.of("job.failed")).toMatchObject([{ job_id: "b", error: { code: "client_closed", retryable: false } }]);
});

test("a run that ends long after its reader left is reported, too", async () => {
  const { session, runs, assign, streams } = createWorker(1, "socket", false);
  assign("a", 1, { stream: true });
  streams.whenGone.get("a")?.();
  await vi.advanceTimersByTimeAsync(15_000);
  await runs[0]?.finish("nobody reads it");
  expect(session.of("job.failed")).toEqual([]);
  await vi.advanceTimersByTimeAsync(11_000);
  expect(session.of("job.failed")).toMatchObject([{ job_id: "a", error: { code: "client_closed" } }]);
});
