// How a worker runs its model tasks and reports on them, and what it tells of its machine.

import { describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { machineFields } from "../../../contract/fleet/machine.ts";
import { type ModelTaskResource, presentTask } from "../../../contract/fleet/model-task.ts";
import { newModelTask } from "../../../domain/fleet/model-task.ts";
import { Machine } from "../../../worker/models/machine.ts";
import {
  type ModelFacts,
  type ModelManager,
  TaskFailure,
  type WorkOptions,
} from "../../../worker/models/model-manager.ts";
import { ModelTasks } from "../../../worker/models/model-tasks.ts";
import type { WorkerMessage } from "../../../worker/session/session.ts";

const task = (id: string, more: Partial<ModelTaskResource> = {}): ModelTaskResource => ({
  ...presentTask(newModelTask({ id, worker: "w", action: "pull", model: id, keepAlive: null }, 0)),
  ...more,
});

type Begun = { id: string; options: WorkOptions; end: (error?: unknown) => void };

const setUp = ({ isManaged = true, maxModelGb = null as number | null } = {}) => {
  const sent: WorkerMessage[] = [];
  const begun: Begun[] = [];
  const manager: ModelManager = {
    look: () => Promise.reject(new Error("not asked")),
    work: ({ model }, options) =>
      new Promise((resolve, reject) => {
        options.signal.addEventListener("abort", () => reject(options.signal.reason));
        begun.push({ id: model, options, end: (error) => (error === undefined ? resolve() : reject(error)) });
      }),
  };
  const onDone = vi.fn();
  let count = 0;
  const tasks = new ModelTasks(
    { manager: isManaged ? manager : null, maxModelGb, log: () => {}, onDone },
    {
      send: (message) => sent.push(message),
      nextId: () => {
        count += 1;
        return String(count);
      },
    },
  );
  const said = (type: WorkerMessage["type"]) => sent.filter((message) => message.type === type);
  return { tasks, sent, begun, said, onDone };
};

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("a worker's model task", () => {
  test("is acknowledged by a first progress at once, and ends with a report that is kept", async () => {
    const { tasks, sent, begun, said, onDone } = setUp();
    tasks.receive(task("a"));
    expect(sent).toMatchObject([{ type: "model.progress", task_id: "a", stage: "starting" }]);
    await settle();
    expect(tasks.acknowledged(sent[0]?.id ?? "", 0)).toBe(true);
    expect(begun[0]?.options.signal.aborted).toBe(false);
    expect(() => begun[0]?.options.checkSize(1e15)).not.toThrow();
    begun[0]?.end();
    await settle();
    const [end] = said("model.done");
    expect(end).toEqual({ type: "model.done", id: expect.any(String), task_id: "a" });
    expect(onDone).toHaveBeenCalledOnce();
    tasks.repeat();
    expect(said("model.done")).toEqual([end, end]);
    for (const busy of [429, 500]) expect(tasks.acknowledged(end?.id ?? "", busy)).toBe(true);
    tasks.receive(task("a", { status: "running" }));
    expect(said("model.done")).toHaveLength(3);
    expect(tasks.acknowledged(end?.id ?? "", 0)).toBe(true);
    tasks.repeat();
    expect(said("model.done")).toHaveLength(3);
  });

  test("that is given again goes on once", async () => {
    const { tasks, begun, said } = setUp();
    for (let times = 0; times < 3; times += 1) tasks.receive(task("a"));
    await settle();
    expect(begun).toHaveLength(1);
    expect(said("model.progress")).toHaveLength(3);
  });

  test("waits for those on the disk before it, while memory is another matter", async () => {
    const { tasks, begun, said } = setUp();
    tasks.receive(task("a"));
    tasks.receive(task("b"));
    tasks.receive(task("c", { action: "load", model: "c" }));
    tasks.receive(task("d", { action: "load", model: "a" }));
    await settle();
    expect(begun.map(({ id }) => id)).toEqual(["a", "c"]);
    expect(said("model.progress").map((one) => "stage" in one && one.stage)).toEqual([
      "starting",
      "waits for 1 before it",
      "starting",
      "waits for 2 before it",
    ]);
    begun[0]?.end(new TaskFailure("x", "failed"));
    await settle();
    expect(begun.map(({ id }) => id)).toEqual(["a", "c", "b"]);
  });

  test("tells its progress at most once a second, and again after ten without any, until it has ended", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const { tasks, begun, said } = setUp();
    tasks.receive(task("a"));
    await settle();
    vi.advanceTimersByTime(999);
    for (let at = 0; at < 20; at += 1) begun[0]?.options.onProgress({ completed_bytes: at, stage: "pulling" });
    expect(said("model.progress")).toHaveLength(1);
    vi.advanceTimersByTime(1);
    begun[0]?.options.onProgress({ completed_bytes: 20, total_bytes: 30, stage: "pulling" });
    begun[0]?.options.onProgress({ completed_bytes: 21, stage: "pulling" });
    expect(said("model.progress").at(-1)).toMatchObject({ completed_bytes: 20, total_bytes: 30, stage: "pulling" });
    vi.advanceTimersByTime(9_999);
    tasks.repeat();
    expect(said("model.progress")).toHaveLength(2);
    vi.advanceTimersByTime(1);
    tasks.repeat();
    expect(said("model.progress")).toHaveLength(3);
    begun[0]?.end();
    await settle();
    vi.advanceTimersByTime(10_000);
    tasks.repeat();
    expect(said("model.progress")).toHaveLength(3);
  });

  test("says why it failed, and that a model is larger than its owner allows", async () => {
    const { tasks, begun, said } = setUp({ maxModelGb: 5 });
    tasks.receive(task("a"));
    await settle();
    expect(() => begun[0]?.options.checkSize(5_000_000_000)).not.toThrow();
    expect(() => begun[0]?.options.checkSize(5_000_000_001)).toThrow("--max-model-gb is 5");
    const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:11434"), { code: "ECONNREFUSED" });
    begun[0]?.end(new TypeError("fetch failed", { cause: refused }));
    await settle();
    const message = "The runtime cannot be reached: connect ECONNREFUSED 127.0.0.1:11434";
    expect(said("model.done")).toMatchObject([{ error: { code: "runtime_unreachable", message } }]);
  });

  test("says of a connection that ends in the middle that it broke off", async () => {
    const { tasks, begun, said } = setUp();
    tasks.receive(task("a"));
    await settle();
    const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    begun[0]?.end(new TypeError("terminated", { cause: reset }));
    await settle();
    const message = "The runtime's connection broke off: read ECONNRESET";
    expect(said("model.done")).toMatchObject([{ error: { code: "runtime_unreachable", message } }]);
  });

  test("that is cancelled stops, and what is refused as over stops, too", async () => {
    const { tasks, begun, said } = setUp();
    tasks.receive(task("a"));
    tasks.receive(task("b", { action: "load" }));
    await settle();
    tasks.cancel("a");
    expect(begun[0]?.options.signal.aborted).toBe(true);
    const [told] = said("model.progress").slice(-1);
    expect(tasks.acknowledged(told?.id ?? "", 409)).toBe(true);
    expect(begun[1]?.options.signal.aborted).toBe(true);
    await settle();
    expect(said("model.done")).toMatchObject([{ task_id: "a", error: { code: "cancelled" } }]);
    const [end] = said("model.done");
    expect(tasks.acknowledged(end?.id ?? "", 409)).toBe(true);
    tasks.repeat();
    expect(said("model.done")).toHaveLength(1);
  });

  test("that was cancelled while the worker was away is reported on once", () => {
    const { tasks, said } = setUp();
    for (let times = 0; times < 2; times += 1) tasks.receive(task("a", { status: "cancelled" }));
    const ends = said("model.done");
    expect(ends).toHaveLength(2);
    expect(ends[0]).toBe(ends[1]);
  });

  test("is refused where the machine's owner allows none", () => {
    const { tasks, said } = setUp({ isManaged: false });
    tasks.receive(task("a"));
    expect(said("model.done")).toMatchObject([{ error: { code: "models_not_managed" } }]);
  });

  test("stops without a report when the worker ends, so that it is given again", async () => {
    const { tasks, begun, said } = setUp();
    tasks.receive(task("a"));
    await settle();
    tasks.close();
    await settle();
    expect([begun[0]?.options.signal.aborted, said("model.done")]).toEqual([true, []]);
  });
});

describe("a worker's machine", () => {
  const HARDWARE = { gpus: [{ name: "A", total_mb: 20_000, used_mb: 0 }], ram_mb: 1, ram_free_mb: 1 };
  const CAN = ["load" as const];
  const FACTS: ModelFacts = { loaded: [{ model: "a" }], on_disk: null, max_loaded: 2, can: CAN };

  const machineWith = (isManaged: boolean) => {
    const state = { facts: FACTS as ModelFacts | null, usedMb: 0 };
    const look = () => (state.facts === null ? Promise.reject(new Error("away")) : Promise.resolve(state.facts));
    const machine = new Machine({
      manager: { look, work: () => Promise.resolve() },
      isManaged,
      maxModelGb: null,
      readHardware: async () => ({ ...HARDWARE, gpus: [{ name: "A", total_mb: 20_000, used_mb: state.usedMb }] }),
    });
    const onChange = vi.fn();
    machine.watch(onChange);
    return { machine, state, onChange };
  };

  test("is told as it is, and can do something only where its owner allows it", async () => {
    const { machine } = machineWith(true);
    await machine.look();
    expect(machine.facts).toEqual({ hardware: HARDWARE, ...FACTS });
    expect(machine.forTasks.manager).not.toBe(null);
    const { machine: unmanaged } = machineWith(false);
    await unmanaged.look();
    expect(unmanaged.facts).toEqual({ hardware: HARDWARE, ...FACTS, can: null });
    expect(unmanaged.forTasks.manager).toBe(null);
  });

  test("is told again when its models or much of its memory change, and keeps what it knew while the runtime is away", async () => {
    const { machine, state, onChange } = machineWith(true);
    await machine.look();
    expect(onChange).toHaveBeenCalledTimes(1);
    state.usedMb = 100;
    await machine.look();
    expect(onChange).toHaveBeenCalledTimes(1);
    state.usedMb = 5_000;
    await machine.look();
    state.facts = { ...FACTS, loaded: [] };
    await machine.look();
    expect(onChange).toHaveBeenCalledTimes(3);
    state.facts = null;
    await machine.look();
    expect(onChange).toHaveBeenCalledTimes(3);
    expect(machine.facts).toMatchObject({ loaded: [], can: CAN });
  });

  test("is told without what no report can have, whatever its runtime and its tools say", async () => {
    const { machine, state } = machineWith(true);
    const loaded = [
      { model: "a" },
      { model: "b", vram_mb: 1e302 },
      { model: "c", expires_at: "+275760-09-13T00:00:00Z" },
    ];
    const on_disk = [
      { model: "a", bytes: 1 },
      { model: "b", bytes: 1e20 },
    ];
    state.facts = { ...FACTS, loaded, on_disk, max_loaded: 0 };
    state.usedMb = 1e12;
    await machine.look();
    const known = { loaded: [{ model: "a" }], on_disk: [{ model: "a", bytes: 1 }] };
    expect(machine.facts).toEqual({ hardware: null, max_loaded: null, can: CAN, ...known });
    expect(z.object(machineFields).safeParse(machine.facts).success).toBe(true);
  });
});
