// The states that an operator looks for, and the filter, order and totals of a fleet's list.

import { describe, expect, it } from "vitest";
import { fleetByProvider } from "../../../contract/fleet-by-provider.ts";
import { machineOf, UNKNOWN_MACHINE } from "../../../domain/fleet/machine.ts";
import type { Pause } from "../../../domain/fleet/pause.ts";
import { type Outcome, registerWorker, type WorkerView } from "../../../domain/fleet/worker.ts";
import {
  failureRateOf,
  inOrder,
  isInState,
  isWanted,
  sumsOf,
  WORKER_STATES,
} from "../../../domain/fleet/worker-state.ts";

const REPORT = { tagList: "", models: null, tier: null, version: null, unavailable: null, apis: [] };

const pausedFor = (reason: string): Pause => ({ reason, untilAt: null });

const viewOf = (instance: string, given: Partial<WorkerView> = {}, tags: string[] = [], codes = ""): WorkerView => {
  const report = {
    ...REPORT,
    instance,
    provider: "p",
    tags,
    concurrency: 2,
    runtimeModels: null,
    machine: UNKNOWN_MACHINE,
    jobs: null,
  };
  const outcomes = [...codes].map(
    (code, at): Outcome => ({
      jobId: `${at}`,
      outcome: code === "." ? "completed" : "failed",
      code: code === "." ? null : code === "r" ? "rate_limited" : "runtime_error",
      at,
    }),
  );
  const worker = {
    ...registerWorker(report, null, { keyId: null, viaSocket: false, isFull: false }, 1),
    tagList: tags.join(),
    outcomes,
  };
  return {
    worker,
    status: "idle",
    load: 0,
    pause: null,
    unavailable: null,
    lastSeenAt: 1,
    connected: true,
    haltConfirmed: null,
    ...given,
  };
};

describe("a worker's states", () => {
  it.each([
    ["...", 0, false],
    ["xx", 1, false],
    ["x..", 1 / 3, true],
    ["x...", 1 / 4, false],
    ["rrrr", null, false],
    ["xrr", 1, false],
    ["x..r", 1 / 3, true],
    ["", null, false],
  ])("of the outcomes %j the failure rate is %j, and failing is %j", (codes, rate, isFailing) => {
    const view = viewOf("w", {}, [], codes);
    expect(failureRateOf(view.worker)).toBe(rate);
    expect(isInState(view, "failing")).toBe(isFailing);
  });

  it("present ones may be paused, unavailable, busy or idle; those that owe a confirmation are told apart", () => {
    const away = viewOf("w", { haltConfirmed: true });
    const states = (view: WorkerView) => WORKER_STATES.filter((state) => isInState(view, state));
    expect(states(away)).toEqual(["idle"]);
    expect(states({ ...away, unavailable: "its runtime does not answer" })).toEqual(["unavailable", "idle"]);
    expect(states({ ...away, unavailable: "its runtime does not answer", status: "offline" })).toEqual(["offline"]);
    expect(states({ ...away, status: "busy", pause: pausedFor("lunch") })).toEqual(["paused", "busy"]);
    const both = { pause: pausedFor("lunch"), unavailable: "its runtime does not answer" };
    expect(states({ ...away, ...both })).toEqual(["paused", "idle"]);
    expect(states({ ...away, status: "online", haltConfirmed: false })).toEqual(["online", "unconfirmed"]);
  });

  it("an offline worker is neither failing nor paused, but has confirmed no halt", () => {
    const view = viewOf("w", { status: "offline", pause: pausedFor("by hand"), haltConfirmed: false }, [], "xxxx");
    expect(sumsOf([view], 10).states).toEqual({
      failing: 0,
      offline: 1,
      paused: 0,
      unavailable: 0,
      busy: 0,
      online: 0,
      idle: 0,
      unconfirmed: 1,
    });
  });
});

it("why workers take no jobs is counted alike by state and by provider", () => {
  const views = (["offline", "busy", "idle"] as const).flatMap((status) =>
    [null, pausedFor("lunch")].flatMap((pause) =>
      [null, "no runtime"].map((unavailable) => viewOf("w", { status, pause, unavailable })),
    ),
  );
  const { states } = sumsOf(views, 10);
  const [fleet] = fleetByProvider(
    views.map(({ status, pause, unavailable, load: current_load, worker: { provider, concurrency } }) => {
      return { provider, status, paused: pause !== null, unavailable, concurrency, current_load };
    }),
  );
  expect([states.offline, states.paused, states.unavailable]).toEqual([4, 4, 2]);
  expect(fleet).toMatchObject({ workers: 12, offline: 4, paused: 4, unavailable: 2 });
});

describe("a fleet's list", () => {
  const fleet = [
    viewOf("b", { load: 1, lastSeenAt: 5 }, ["gpu", "eu"], "..."),
    viewOf("a", { load: 1, lastSeenAt: 9 }, ["gpu"], "xxx"),
    viewOf("c", { status: "offline", lastSeenAt: 2 }, []),
  ];

  it("finds a part of a name or a tag, in any case; every filter must hold", () => {
    const found = (filter: Parameters<typeof isWanted>[1]) =>
      fleet.filter((view) => isWanted(view, filter)).map(({ worker }) => worker.instance);
    expect(found({ q: "GP" })).toEqual(["b", "a"]);
    expect(found({ tag: "gpu", state: "failing" })).toEqual(["a"]);
    expect(found({ tag: "gp" })).toEqual([]);
    expect([found({ provider: "p" }), found({ provider: "q" })]).toEqual([["b", "a", "c"], []]);
  });

  it("finds those that tell of their models, and none of the service's own", () => {
    const machine = machineOf({ ...UNKNOWN_MACHINE, onDisk: [{ model: "m", bytes: 1 }] });
    const graphics = machineOf({ ...UNKNOWN_MACHINE, maxLoaded: 2 });
    const of = (worker: object) => ({ ...viewOf("w"), worker: { ...viewOf("w").worker, ...worker } });
    const tells = (worker: object): boolean => isWanted(of(worker), { tellsModels: true });
    expect([tells({ machine }), tells({ machine: graphics }), tells({}), tells({ machine, isEdge: true })]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  it("puts first what is asked for, and equal ones by name", () => {
    const order = (sort: Parameters<typeof inOrder>[1]) => inOrder(fleet, sort).map(({ worker }) => worker.instance);
    expect(order("load")).toEqual(["a", "b", "c"]);
    expect(order("failure_rate")).toEqual(["a", "b", "c"]);
    expect(order("last_heartbeat")).toEqual(["c", "b", "a"]);
    expect(order("instance")).toEqual(["a", "b", "c"]);
  });

  it("has those without a record after those that never failed, and those without a place as not loaded", () => {
    const [none, good] = [viewOf("a"), viewOf("b", {}, [], "...")];
    expect(inOrder([none, good], "failure_rate").map(({ worker }) => worker.instance)).toEqual(["b", "a"]);
    const placeless = viewOf("c", { load: 2 });
    const shown = { ...placeless, worker: { ...placeless.worker, concurrency: 0 } };
    const [full, empty] = [viewOf("d", { load: 2 }), viewOf("e", { load: 0 })];
    expect(inOrder([shown, empty, full], "load").map(({ worker }) => worker.instance)).toEqual(["d", "c", "e"]);
  });

  it("adds up places of workers that take jobs by tag, the largest group first", () => {
    const alike = [viewOf("a", {}, ["y", "x"]), viewOf("b", {}, ["z"])];
    expect(sumsOf(alike, 3).tags.map(({ value }) => value)).toEqual(["x", "y", "z"]);
    const { tags, providers } = sumsOf(fleet, 1);
    expect(tags).toEqual([{ value: "gpu", workers: 2, places: 4, load: 2, failing: 1, offline: 0, paused: 0 }]);
    expect(providers[0]).toMatchObject({ workers: 3, places: 4, offline: 1 });
  });

  it("counts neither the places nor the load of those that take no jobs", () => {
    const paused = viewOf("p", { pause: pausedFor("its fan is replaced"), load: 1 });
    const views = [viewOf("a", { load: 1 }), paused, viewOf("u", { unavailable: "outside its hours", load: 1 })];
    expect(sumsOf(views, 1).providers[0]).toMatchObject({ workers: 3, places: 2, load: 1, paused: 1 });
  });
});
