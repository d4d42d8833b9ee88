import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { PRESENCE_AT_LEAST_EVERY_MS } from "../../worker/presence.ts";
import { killswitch, problem } from "./fake-coordinator.ts";
import { ack, createWorker, settle } from "./loop-fixture.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the pulse", () => {
  test("of an idle worker is a ping each interval, which wakes nobody: no presence, no look at the config", async () => {
    const { loop, session, forJob } = createWorker();
    ack(loop, session.sent[0], { heartbeat_interval_seconds: 4 });
    const before = session.pings;
    await vi.advanceTimersByTimeAsync(400_000);
    expect(session.pings - before).toBeGreaterThanOrEqual(100);
    expect([session.sent.length, forJob.mock.calls.length]).toEqual([1, 0]);
  });

  test("follows at once a shorter interval, whatever message brings it", async () => {
    const { loop, session } = createWorker();
    ack(loop, session.sent[0]);
    const facts = {
      jobs: [],
      halted: [],
      model_tasks: [],
      killswitch: killswitch(0),
      server_time: "2026-01-01T00:00:00Z",
    };
    loop.receive({ type: "welcome", ...facts, heartbeat_interval_seconds: 1 });
    expect(session.pings).toBe(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(session.pings).toBe(2);
    expect(session.sent.length).toBe(1);
  });

  test("of an idle worker is a full presence every ten minutes, should anything have been missed", async () => {
    const { loop, session, forJob } = createWorker();
    ack(loop, session.sent[0]);
    await vi.advanceTimersByTimeAsync(PRESENCE_AT_LEAST_EVERY_MS + 15_000);
    expect([session.of("presence").length, forJob.mock.calls.length]).toEqual([2, 0]);
  });

  test("of a worker with a job is a presence and a ping each interval, and a look at the config", async () => {
    const { loop, session, assign, forJob } = createWorker();
    ack(loop, session.sent[0]);
    assign("a");
    await vi.advanceTimersByTimeAsync(30_000);
    expect([session.of("presence").length, session.pings, forJob.mock.calls.length]).toEqual([3, 2, 1]);
  });

  test("of a worker on plain HTTP is a presence each interval", async () => {
    const { loop, session, forJob } = createWorker(1, "http");
    ack(loop, session.sent[0]);
    await vi.advanceTimersByTimeAsync(30_000);
    expect([session.of("presence").length, forJob.mock.calls.length]).toEqual([3, 0]);
  });

  test("repeats a presence that was not acknowledged, or refused for the moment", async () => {
    const { loop, session } = createWorker();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(session.of("presence").length).toBe(2);
    ack(loop, session.of("presence")[1], { ok: false, problem: problem(503, "overloaded") });
    await vi.advanceTimersByTimeAsync(15_000);
    expect(session.of("presence").length).toBe(3);
    ack(loop, session.of("presence")[2]);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(session.of("presence").length).toBe(3);
  });

  test("that was late because the machine slept is a presence: the coordinator may have given the worker up", async () => {
    const { loop, session } = createWorker();
    ack(loop, session.sent[0]);
    vi.setSystemTime(Date.now() + 3_600_000);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(session.of("presence").length).toBe(2);
  });

  test("tells of a job that was dropped without a report, even if a presence from before is acknowledged later", async () => {
    const { loop, session, assign } = createWorker();
    assign("a");
    loop.receive({ type: "job.halted", job_id: "a", lease: 1, reason: "cancelled" });
    await settle();
    ack(loop, session.sent[0]);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(session.of("presence").length).toBe(2);
    expect(session.sent.at(-1)).toMatchObject({ type: "presence", jobs: [] });
  });

  test("names the jobs held, those whose result is still on its way too", async () => {
    const { session, runs, assign } = createWorker(2);
    assign("a");
    assign("b");
    await runs[0]?.finish("done");
    await vi.advanceTimersByTimeAsync(15_000);
    expect(session.of("presence").at(-1)?.jobs).toEqual(["a", "b"]);
    expect(session.of("job.heartbeat").map(({ job_id }) => job_id)).toEqual(["b"]);
  });

  test("a presence that the coordinator cannot take ends the worker with the reason", () => {
    const { loop, session, refusals } = createWorker();
    ack(loop, session.sent[0], { ok: false, problem: problem(400, "invalid_request", "tags.0: must not be empty") });
    expect(refusals).toEqual(["the coordinator refused this worker: tags.0: must not be empty"]);
  });

  test("a presence that comes at a bad time does not", () => {
    const { loop, session, refusals } = createWorker();
    ack(loop, session.sent[0], { ok: false, problem: problem(503, "overloaded") });
    expect(refusals).toEqual([]);
  });
});
