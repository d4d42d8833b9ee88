import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RESEND_AFTER_MS } from "../../worker/session/outbox.ts";
import { killswitch, problem } from "./fake-coordinator.ts";
import { ack, createWorker, FakeSession, settle } from "./loop-fixture.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("running jobs", () => {
  test("a worker speaks first, with its presence, and reports a job from start to result", async () => {
    const { loop, session, runs, assign } = createWorker();
    expect(session.sent).toMatchObject([
      { type: "presence", instance: "w1", tags: "gpu", status: "idle", concurrency: 1, jobs: [] },
    ]);
    assign("a");
    await runs[0]?.finish("done");
    expect(session.sent.slice(1)).toMatchObject([
      { type: "job.started", job_id: "a", lease: 1 },
      { type: "job.completed", job_id: "a", lease: 1, result: { text: "done" } },
    ]);
    expect(loop.heldJobIds).toEqual(["a"]);
    ack(loop, session.of("job.completed")[0]);
    expect(loop.heldJobIds).toEqual([]);
  });

  test("no more jobs run at a time than the worker has slots; the next starts when one ends", async () => {
    const { loop, runs, assign } = createWorker(2);
    for (const id of ["a", "b", "c"]) assign(id);
    expect(runs.map(({ task }) => task.prompt)).toEqual(["a", "b"]);
    expect(loop.freeSlots()).toBe(0);
    await runs[0]?.finish("done");
    expect(runs.map(({ task }) => task.prompt)).toEqual(["a", "b", "c"]);
  });

  test("an assignment that is repeated starts nothing twice, not even after the job is done", async () => {
    const { loop, session, runs, assign } = createWorker();
    assign("a");
    assign("a");
    await runs[0]?.finish("done");
    assign("a");
    ack(loop, session.of("job.completed")[0]);
    assign("a");
    expect(runs.length).toBe(1);
    assign("a", 2);
    expect(runs.length).toBe(2);
  });

  test("a job that is leased again to the same worker starts again, and the older run reports nothing more", async () => {
    const { session, runs, assign } = createWorker(2);
    assign("a", 1);
    assign("a", 2);
    expect(runs[0]?.options.signal.aborted).toBe(true);
    await runs[1]?.finish("second");
    expect(session.of("job.completed")).toMatchObject([{ lease: 2, result: { text: "second" } }]);
  });

  test("a changed config holds for the next job", async () => {
    const { runs, assign, config } = createWorker(2);
    assign("a");
    config.model = "llama3.2";
    assign("b");
    expect(runs.map(({ options }) => options.configuredModel)).toEqual([null, "llama3.2"]);
  });

  test("only a request of the front door, which names its model, does not wait for the config", async () => {
    const { assign, forJob } = createWorker(3);
    assign("a", 1, { model: "m" });
    assign("b", 1, { model: "m", api: "chat/completions" });
    assign("c", 1, { model: null, api: "chat/completions" }, '"7"');
    expect(forJob.mock.calls).toEqual([
      [true, undefined],
      [false, undefined],
      [true, '"7"'],
    ]);
  });

  test("a job that is halted while the config is looked up never runs", async () => {
    const { loop, session, runs, assign, config, forJob } = createWorker();
    ack(loop, session.sent[0]);
    const { promise, resolve } = Promise.withResolvers<typeof config>();
    forJob.mockReturnValue(promise);
    assign("a");
    loop.receive({ type: "job.halted", job_id: "a", lease: 1, reason: "cancelled" });
    resolve(config);
    await settle();
    expect([runs.length, loop.heldJobIds]).toEqual([0, []]);
  });

  test("progress is told at most once a second, the latest within a second and with each heartbeat", async () => {
    const { session, runs, assign } = createWorker();
    assign("a");
    for (let chars = 1; chars <= 30; chars++) {
      runs[0]?.options.onProgress({ output_chars: chars });
      await vi.advanceTimersByTimeAsync(100);
    }
    const told = () => session.of("job.heartbeat").map(({ progress }) => progress);
    expect(told().slice(0, 2)).toEqual([{ output_chars: 10 }, { output_chars: 20 }]);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(session.of("job.heartbeat").at(-1)).toMatchObject({ job_id: "a", progress: { output_chars: 30 } });
  });

  test("the only progress of a job is told within a second, and the last of a burst, too", async () => {
    const { session, runs, assign } = createWorker();
    assign("a");
    const told = () => session.of("job.heartbeat").map(({ progress }) => progress);
    runs[0]?.options.onProgress({ output_chars: 1 });
    runs[0]?.options.onProgress({ output_chars: 2 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(told()).toEqual([{ output_chars: 2 }]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(told().length).toBe(1);
    runs[0]?.options.onProgress({ output_chars: 3 });
    runs[0]?.options.onProgress({ output_chars: 4 });
    await runs[0]?.finish("done");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(told()).toEqual([{ output_chars: 2 }, { output_chars: 3 }]);
  });
});

test("the stream of a job that fails ends with its error", async () => {
  const { runs, session, streams, assign } = createWorker();
  assign("a", 1, { stream: true });
  runs[0]?.options.emit(["data: 1\n\n"]);
  await runs[0]?.fail({ code: "overloaded", message: "busy", status: 529, retryable: true });
  expect(streams.said).toEqual(["data: 1\n\n", 'a 1 end {"code":"overloaded","message":"busy","status":529}']);
  expect(session.of("job.failed")).toHaveLength(1);
});

test("a run that is being stopped keeps its place until it has really ended", async () => {
  const { loop, runs, assign } = createWorker();
  assign("a");
  loop.receive({ type: "job.halted", job_id: "a", lease: 1, reason: "cancelled" });
  expect(loop.freeSlots()).toBe(0);
  assign("b");
  expect(runs.map(({ task }) => task.prompt)).toEqual(["a"]);
  await settle();
  expect(runs.map(({ task }) => task.prompt)).toEqual(["a", "b"]);
});

describe("a trial of the runtime", () => {
  const tried = async (end: (run: ReturnType<typeof createWorker>["runs"][number] | undefined) => unknown) => {
    const { loop, session, runs } = createWorker();
    loop.receive({ type: "runtime.try", model: "m" });
    loop.receive({ type: "runtime.try", model: "m" });
    expect(runs.map(({ task }) => [task.model, task.input])).toEqual([["m", { max_tokens: 1 }]]);
    await end(runs[0]);
    await settle();
    return session.of("runtime.tried");
  };

  test("is one token with the model that failed, beside the jobs, and one at a time", async () => {
    const { loop, runs, session, assign } = createWorker();
    assign("a");
    loop.receive({ type: "runtime.try", model: null });
    await runs[1]?.finish("y");
    expect(session.of("runtime.tried")).toMatchObject([{ ok: true }]);
    expect(loop.heldJobIds).toEqual(["a"]);
    expect(await tried((run) => run?.finish("y"))).toMatchObject([{ ok: true }]);
  });

  test("shows that the runtime works where it refuses this request, and that it fails where it does not answer", async () => {
    const said = { code: "bad_request", message: "this is an embedding model", status: 400, retryable: false };
    expect(await tried((run) => run?.fail(said))).toMatchObject([{ ok: true }]);
    const broken = { code: "internal", message: "out of memory", status: 500, retryable: true };
    expect(await tried((run) => run?.fail(broken))).toMatchObject([{ ok: false, error: broken }]);
    const key = { code: "unauthorized", message: "no such key", status: 401, retryable: false };
    expect(await tried((run) => run?.fail(key))).toMatchObject([{ ok: false, error: key }]);
  });

  test("fails where nothing comes within a minute", async () => {
    const [answer] = await tried(() => vi.advanceTimersByTimeAsync(60_000));
    expect(answer).toMatchObject({ ok: false, error: { code: "trial_failed" } });
  });
});

describe("reports", () => {
  test("are repeated, the same, until they are acknowledged", async () => {
    const { loop, session, runs, assign } = createWorker();
    assign("a");
    ack(loop, session.of("job.started")[0]);
    await runs[0]?.finish("done");
    await vi.advanceTimersByTimeAsync(15_000 + RESEND_AFTER_MS);
    const told = session.of("job.completed");
    expect(told.length).toBe(2);
    expect(told[1]).toEqual(told[0]);
    ack(loop, told[0]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(session.of("job.completed").length).toBe(2);
    expect(session.of("job.started").length).toBe(1);
  });

  test("are repeated also after the machine's clock was set back", async () => {
    const { session, runs, assign } = createWorker();
    assign("a");
    await runs[0]?.finish("done");
    vi.setSystemTime(Date.now() - 3_600_000);
    await vi.advanceTimersByTimeAsync(15_000 + RESEND_AFTER_MS);
    expect(session.of("job.completed").length).toBe(2);
  });

  test("that could not be sent wait for the next session, under the same lease, after its presence", async () => {
    const { loop, runs, assign } = createWorker();
    assign("a");
    loop.detach();
    await runs[0]?.finish("done while away");
    const next = new FakeSession();
    loop.attach(next);
    expect(next.sent).toMatchObject([
      { type: "presence", jobs: ["a"] },
      { type: "job.started", job_id: "a", lease: 1 },
      { type: "job.completed", job_id: "a", lease: 1, result: { text: "done while away" } },
    ]);
  });

  test("of a lease that was lost are dropped, those of other jobs are not, and the run is stopped", async () => {
    const { loop, session, runs, assign } = createWorker(2);
    assign("a");
    assign("b");
    await runs[1]?.finish("done");
    ack(loop, session.of("job.started")[0], { ok: false, problem: problem(409, "lease_lost") });
    await settle();
    expect(runs[0]?.options.signal.aborted).toBe(true);
    expect(loop.heldJobIds).toEqual(["b"]);
    const next = new FakeSession();
    loop.attach(next);
    expect(next.sent).toMatchObject([
      { type: "presence", jobs: ["b"] },
      { type: "job.started", job_id: "b" },
      { type: "job.completed", job_id: "b" },
    ]);
  });

  test.each([
    [503, "overloaded"],
    [429, "rate_limited"],
  ] as const)("that the coordinator refuses for the moment, with %i %s, are kept", async (status, code) => {
    const { loop, session, runs, assign } = createWorker();
    assign("a");
    await runs[0]?.finish("done");
    ack(loop, session.of("job.completed")[0], { ok: false, problem: problem(status, code) });
    await vi.advanceTimersByTimeAsync(15_000);
    expect(session.of("job.completed").length).toBe(2);
  });

  test("a result that the coordinator cannot take fails the job instead of vanishing", async () => {
    const { loop, session, runs, assign } = createWorker();
    assign("a");
    const spent = { usage: { input_tokens: 5, output_tokens: 2 }, cost_usd: 0.5 };
    await runs[0]?.finish("done", spent);
    ack(loop, session.of("job.completed")[0], {
      ok: false,
      problem: problem(413, "payload_too_large", "at most 1 MiB"),
    });
    expect(session.of("job.failed")).toMatchObject([
      { job_id: "a", lease: 1, error: { code: "result_refused", retryable: false }, ...spent },
    ]);
  });

  test("a failure whose usage the coordinator refuses is told without it", async () => {
    const { loop, session, runs, assign } = createWorker();
    assign("a");
    const error = { code: "mine", message: "no", retryable: false };
    await runs[0]?.fail(error, false, { usage: { input_tokens: -1, output_tokens: 1 } });
    const [told] = session.of("job.failed");
    ack(loop, told, { ok: false, problem: problem(400, "invalid_request", "usage.input_tokens: must be at least 0") });
    const again = session.of("job.failed")[1];
    expect(again).toEqual({ type: "job.failed", id: again?.id, job_id: "a", lease: 1, error });
    ack(loop, again, { ok: true });
    expect(loop.heldJobIds).toEqual([]);
  });
});

describe("a halt", () => {
  test("of a job stops its run, and nothing more is said about it", async () => {
    const { loop, session, runs, assign } = createWorker();
    assign("a");
    loop.receive({ type: "job.halted", job_id: "a", lease: 1, reason: "cancelled" });
    await settle();
    expect(runs[0]?.options.signal.aborted).toBe(true);
    expect(loop.heldJobIds).toEqual([]);
    expect(loop.freeSlots()).toBe(1);
    expect(session.sent.map(({ type }) => type)).toEqual(["presence", "job.started"]);
  });

  test("of an older lease does not touch the newer one", async () => {
    const { loop, runs, assign } = createWorker();
    assign("a", 3);
    loop.receive({ type: "job.halted", job_id: "a", lease: 2, reason: "cancelled" });
    expect(runs[0]?.options.signal.aborted).toBe(false);
  });

  test("named in the answer to a presence counts as well", async () => {
    const { loop, session, runs, assign } = createWorker();
    assign("a");
    ack(loop, session.of("presence")[0], { halted: ["a"] });
    expect(runs[0]?.options.signal.aborted).toBe(true);
  });

  test("by the killswitch stops all jobs, and is confirmed by a presence without jobs once every run has ended", async () => {
    const { loop, session, runs, assign } = createWorker(2);
    assign("a");
    assign("b");
    await runs[1]?.finish("done, not yet told");
    loop.receive({ type: "killswitch", killswitch: killswitch(1) });
    expect(session.of("presence").length).toBe(1);
    await settle();
    expect(runs[0]?.options.signal.aborted).toBe(true);
    expect(session.of("presence").length).toBe(2);
    expect(session.sent.at(-1)).toMatchObject({ type: "presence", jobs: [] });
  });

  test("by the killswitch is confirmed by an idle worker at once, and only once", async () => {
    const { loop, session } = createWorker();
    loop.receive({ type: "killswitch", killswitch: killswitch(4) });
    expect(session.of("presence").length).toBe(2);
    ack(loop, session.of("presence")[1], { killswitch: killswitch(4), halted: [], jobs: [] });
    expect(session.of("presence").length).toBe(2);
  });

  test("that happened while the worker was away is learned from the welcome", async () => {
    const { loop, runs, assign } = createWorker();
    assign("a");
    loop.detach();
    const next = new FakeSession();
    loop.attach(next);
    const facts = {
      jobs: [],
      halted: [],
      model_tasks: [],
      heartbeat_interval_seconds: 15,
      server_time: "2026-01-01T00:00:00Z",
    };
    loop.receive({ type: "welcome", ...facts, killswitch: killswitch(2) });
    await settle();
    expect(runs[0]?.options.signal.aborted).toBe(true);
    expect(next.sent.at(-1)).toMatchObject({ type: "presence", jobs: [] });
  });
});

describe("shutting down", () => {
  test("a worker offers no slot, lets its jobs end, and goes when all is told", async () => {
    const { loop, session, runs, assign } = createWorker(2);
    assign("a");
    let isGone = false;
    const drained = loop.drain(20_000).then(() => {
      isGone = true;
    });
    expect(session.sent.at(-1)).toMatchObject({ type: "presence", concurrency: 0, status: "online", jobs: ["a"] });
    expect(loop.freeSlots()).toBe(0);
    await runs[0]?.finish("done");
    expect(isGone).toBe(false);
    for (const report of session.sent) ack(loop, report);
    await drained;
    expect(session.of("job.released")).toEqual([]);
  });

  test("a job that comes too late is given back at once", async () => {
    const { loop, session, runs, assign } = createWorker();
    assign("a");
    void loop.drain(20_000);
    assign("b");
    expect(session.of("job.released")).toMatchObject([
      { job_id: "b", lease: 1, reason: "the worker is shutting down" },
    ]);
    expect(runs.length).toBe(1);
  });

  test("what has not ended within the grace period is stopped and given back", async () => {
    const { loop, session, runs, assign } = createWorker();
    assign("a");
    const drained = loop.drain(20_000);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(runs[0]?.options.signal.aborted).toBe(true);
    expect(session.of("job.released")).toMatchObject([{ job_id: "a", lease: 1 }]);
    for (const report of session.sent) ack(loop, report);
    await drained;
    expect(loop.heldJobIds).toEqual([]);
  });

  test("a coordinator that is away does not keep a worker from going", async () => {
    const { loop, runs, assign } = createWorker();
    assign("a");
    loop.detach();
    const drained = loop.drain(20_000);
    await runs[0]?.finish("nobody hears it");
    await vi.advanceTimersByTimeAsync(25_000);
    await drained;
  });
});
