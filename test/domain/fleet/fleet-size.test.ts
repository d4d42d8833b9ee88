// The cost of a fleet of the largest size: memory per worker, and a refused dispatch that lists the closest workers.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { MAX_OFFERS_BYTES } from "../../../domain/fleet/crowd.ts";
import { Fleet } from "../../../domain/fleet/fleet.ts";
import { explain, explainClosest } from "../../../domain/routing/explanation.ts";
import { NOON } from "../job/sample-jobs.ts";
import { policy, request, worker } from "./sample-fleet.ts";

const MANY = 20_000;
const SHOWN = 200;

const namesOf = (kind: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${kind}-${at}`);

/** As the store reads them: each with its own lists, most of them equal. */
const largeFleet = (): Fleet => {
  const fleet = new Fleet();
  for (let at = 0; at < MANY; at += 1) {
    const tags = [...namesOf("tag", 7), `host-${at}`];
    fleet.put(worker({ instance: `w-${at}`, tags, models: namesOf("model", 50), provider: `p-${at % 5}` }), NOON);
  }
  return fleet;
};

test("a worker of usual size, with a tag of its own, takes less than 4 KB", () => {
  const before = process.memoryUsage();
  const fleet = largeFleet();
  globalThis.gc?.();
  const after = process.memoryUsage();
  const bytes = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
  expect(fleet.size).toBe(MANY);
  expect(bytes / MANY).toBeLessThan(4_096);
});

test("of 1,000 workers as large as they may be, each takes little more than what only it has", () => {
  const FAT = 1_000;
  const before = process.memoryUsage();
  const fleet = new Fleet();
  for (let at = 0; at < FAT; at += 1) {
    // As the store reads them: strings of their own, equal to the others'.
    const models = Array.from({ length: 500 }, (_, n) => `${n}`.padStart(120, "m"));
    const tags = [...namesOf("tag", 31), `host-${at}`];
    fleet.put(worker({ instance: `w-${at}`, tags, models }), NOON);
  }
  globalThis.gc?.();
  const after = process.memoryUsage();
  const bytes = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
  expect(fleet.size).toBe(FAT);
  expect(bytes / FAT).toBeLessThan(16 * 1_024);
});

test("a tenth of 20,000 workers with as many different models as they may have take a tenth of what fits into an isolate of 128 MB", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const heldBytes = (): number => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const names = Math.floor(MAX_OFFERS_BYTES / MANY / 16);
  const before = heldBytes();
  const fleet = new Fleet();
  for (let at = 0; at < MANY / 10; at += 1) {
    const models = Array.from({ length: names }, (_, n) => `${at}.${n}`.padEnd(16, "x"));
    fleet.put(worker({ instance: `w-${at}`, models }), NOON);
  }
  expect(fleet.offers.bytes).toBeGreaterThan((0.99 * MAX_OFFERS_BYTES) / 10);
  expect((heldBytes() - before) / 1_024 / 1_024).toBeLessThan(6.4);
  expect([...fleet.offers.servingModel("7.7xxxxxxxxxxxxx").members()]).toEqual([fleet.get("w-7")?.slot]);
}, 30_000);

test("a refusal shows the workers that came closest, as the whole explanation has them, and looks at no others", () => {
  const fleet = new Fleet();
  for (let at = 0; at < 1_000; at += 1) {
    const tags = at % 3 === 0 ? ["gpu"] : [];
    const pause = at % 2 === 0 ? { reason: "mending", untilAt: null } : null;
    fleet.put(worker({ instance: `w-${at}`, tags, pause, concurrency: 0 }), NOON);
  }
  const asked = request({ tags: ["gpu"] });
  const whole = explain(fleet, asked, policy()).workers;
  const closest = explainClosest(fleet, asked, policy(), SHOWN);
  expect(closest).toHaveLength(SHOWN);
  for (const verdict of closest) expect(whole).toContainEqual(verdict);
  expect(closest[0]?.reasons).toEqual(["takes no jobs: concurrency 0"]);
  expect(explainClosest(fleet, asked, policy(), 5_000)).toHaveLength(1_000);
});

test("providers whose jobs have all ended leave nothing behind, however many there were", () => {
  const fleet = new Fleet();
  fleet.put(worker({ concurrency: 1_000 }), NOON);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const heldBytes = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = heldBytes();
  for (let at = 0; at < 50_000; at += 1) {
    const provider = `${at}`.padStart(128, "p");
    fleet.addLoad("w1", provider, 1);
    fleet.addLoad("w1", provider, -1);
  }
  expect(heldBytes() - before).toBeLessThan(2 * 1_024 * 1_024);
  expect(fleet.get("w1")?.load).toBe(0);
});
