// Where there is room for a model.

import { describe, expect, it } from "vitest";
import { type MachineReport, MODEL_ACTIONS, UNKNOWN_MACHINE } from "../../../domain/fleet/machine.ts";
import { newModelTask } from "../../../domain/fleet/model-task.ts";
import { choosePlaces, isCopy, type PlaceFacts, placeMachineOf, placesFor } from "../../../domain/fleet/placement.ts";
import { NOON } from "../job/sample-jobs.ts";

const GB = 2 ** 30;
const gpus = (totalMb: number, usedMb: number) => [{ name: "A", totalMb, usedMb, utilization: null }];
const hardware = (totalMb: number, usedMb = 0) => ({ gpus: gpus(totalMb, usedMb), ramMb: 32_000, ramFreeMb: 30_000 });
const ON_DISK = { onDisk: [{ model: "qwen3:latest", bytes: 10 * GB }] };
const LOADED = [{ model: "gemma", vramMb: null, expiresAt: null }];

type More = Partial<Omit<PlaceFacts, "machine">>;
const facts = (instance: string, machine: Partial<MachineReport> = {}, more: More = {}): PlaceFacts => ({
  instance,
  machine: placeMachineOf({ ...UNKNOWN_MACHINE, can: MODEL_ACTIONS, ...machine }, "qwen3"),
  isListed: false,
  tasks: [],
  isOffline: false,
  obstacle: null,
  isIdle: false,
  ...more,
});

/** Names and scores, best first; the size of the model is known from a disk. */
const ranked = (...fleet: PlaceFacts[]) => placesFor(fleet, "qwen3").map(({ instance, score }) => [instance, score]);
const one = (machine: Partial<MachineReport>, more: More = {}) => {
  const [place] = placesFor([facts("w", machine, more)], "qwen3");
  if (place === undefined) throw new Error("no verdict");
  return place;
};

describe("the best place for a model", () => {
  it("has it on disk and fits it beside what is loaded", () => {
    const fleet = [
      facts("pulls", { hardware: hardware(24_000) }),
      facts("full", { ...ON_DISK, hardware: hardware(24_000, 20_000) }),
      facts("best", { ...ON_DISK, hardware: hardware(24_000) }),
    ];
    expect(ranked(...fleet)).toEqual([
      ["best", 80],
      ["full", 40],
      ["pulls", 40],
    ]);
  });

  it("is idle, and has few models loaded", () => {
    const idle = facts("idle", { ...ON_DISK, hardware: hardware(24_000) }, { isIdle: true });
    const laden = facts("laden", { ...ON_DISK, hardware: hardware(24_000), loaded: [...LOADED, ...LOADED] });
    expect(ranked(laden, idle)).toEqual([
      ["idle", 95],
      ["laden", 60],
    ]);
  });

  it("loads what is on disk, and pulls what is not", () => {
    expect(one(ON_DISK).action).toBe("load");
    expect(one({}).action).toBe("pull");
    expect(one({}, { isListed: true }).action).toBe("load");
    expect(one({ onDisk: [] }, { isListed: true }).action).toBe("pull");
  });

  it.each([
    ["runs it from RAM", { ...ON_DISK, hardware: hardware(8_000) }, 10],
    ["holds 1 at once", { ...ON_DISK, hardware: hardware(24_000), loaded: LOADED, maxLoaded: 1 }, 30],
    ["says nothing of its memory", ON_DISK, 40],
    ["size of the model is not known", { hardware: hardware(24_000) }, 0],
  ] as const)("%s: says so", (words, machine, score) => {
    const place = one(machine);
    expect(place.reasons.join()).toContain(words);
    expect(place.score).toBe(score);
  });
});

describe("no place is a worker", () => {
  const task = newModelTask({ id: "t", worker: "w", action: "pull", model: "qwen3", keepAlive: null }, NOON);

  it.each([
    ["takes no model tasks", { can: null }, {}],
    ["takes no model tasks", { can: [] }, {}],
    ["cannot pull", { can: ["load"] }, {}],
    ["is paused", ON_DISK, { obstacle: "is paused" }],
    ["is offline", { loaded: [{ model: "qwen3", vramMb: 1, expiresAt: null }] }, { isOffline: true, tasks: [task] }],
    ["too small", { ...ON_DISK, hardware: { gpus: [], ramMb: 4_000, ramFreeMb: 4_000 } }, {}],
    ["has it loaded", { loaded: [{ model: "qwen3", vramMb: 1, expiresAt: null }] }, {}],
    ["is getting it", {}, { tasks: [task] }],
  ] as const)("that %s", (words, machine, more) => {
    const place = one(machine, more);
    expect(place.score).toBeNull();
    expect(place.reasons.join()).toContain(words);
  });

  it("that has a copy, which one that unloads it is not", () => {
    expect(isCopy(facts("w", {}, { tasks: [task] }), "qwen3:latest")).toBe(true);
    expect(isCopy(facts("w", {}, { tasks: [{ ...task, action: "unload" }] }), "qwen3")).toBe(false);
  });
});

describe("the copies that there are", () => {
  it("do not count what an offline worker had loaded, or waits to get", () => {
    const task = newModelTask({ id: "t", worker: "w", action: "pull", model: "qwen3", keepAlive: null }, NOON);
    const away = facts("away", { loaded: [{ model: "qwen3", vramMb: 1, expiresAt: null }] }, { isOffline: true });
    const getting = facts("getting", {}, { isOffline: true, tasks: [task] });
    const { chosen } = choosePlaces([away, getting, facts("here", ON_DISK)], "qwen3", 1);
    expect(chosen.map(({ instance }) => instance)).toEqual(["here"]);
  });
});
