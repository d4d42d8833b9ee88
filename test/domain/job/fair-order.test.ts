// Fair turns, compared with what they promise: who was served least is next, nobody is passed over for ever, nobody
// keeps credit, and a place that is free is taken.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Charge, FairOrder, LONGEST_UNSERVED_MS } from "../../../domain/job/fair-order.ts";
import { COMMON_FLOW, Flows, flowOf, laneOf, ownerOf, placeOfLane } from "../../../domain/job/flows.ts";
import { Heap } from "../../../domain/job/heap.ts";
import { NOON } from "./sample-jobs.ts";

const asked = (inputTokens: number, outputTokens: number | null = 0) => ({ place: 0, inputTokens, outputTokens });
const order = () => new FairOrder({ left: 100 });

/** Gives the next job to a worker, as the object does: it is served, then waits no longer. */
const serveNext = (fair: FairOrder, tokens: number, weights: Record<string, number> = {}, nowAt = NOON): string => {
  const flow = fair.next(nowAt);
  if (flow === null) throw new Error("nobody waits");
  fair.serve(flow, fair.charge(flow, weights[flow] ?? 1, asked(tokens)), nowAt);
  fair.leave(flow);
  return flow;
};

const serveMany = (fair: FairOrder, count: number, tokensOf: (flow: string) => number, weights = {}) => {
  const served: Record<string, number> = {};
  for (let done = 0; done < count; done += 1) {
    const flow = fair.next(NOON) ?? "";
    serveNext(fair, tokensOf(flow), weights);
    fair.end(flow, null);
    served[flow] = (served[flow] ?? 0) + 1;
  }
  return served;
};

describe("a fair order", () => {
  test("lets one job of a flow go next, however many another flow has", () => {
    const fair = order();
    fair.serve("flood", fair.charge("flood", 1, asked(100)), NOON);
    fair.join("flood", 1, NOON, 500);
    fair.join("other", 1, NOON);
    expect(serveNext(fair, 100)).toBe("other");
    expect(serveNext(fair, 100)).toBe("flood");
  });

  test("shares tokens, not jobs", () => {
    const fair = order();
    fair.join("long", 1, NOON, 1_000);
    fair.join("short", 1, NOON, 1_000);
    expect(serveMany(fair, 110, (flow) => (flow === "long" ? 1_000 : 100))).toEqual({ long: 10, short: 100 });
  });

  test("gives by weight", () => {
    const fair = order();
    fair.join("heavy", 3, NOON, 1_000);
    fair.join("light", 1, NOON, 1_000);
    expect(serveMany(fair, 400, () => 100, { heavy: 3 })).toEqual({ heavy: 300, light: 100 });
  });

  test("gives no credit for idleness", () => {
    const fair = order();
    fair.join("busy", 1, NOON, 1_000);
    serveMany(fair, 100, () => 100);
    // One that never waits, as a worker takes its job at once, is charged from the same time.
    expect(fair.charge("direct", 1, asked(1)).from).toBe(9_900);
    fair.join("late", 1, NOON, 1_000);
    expect(serveMany(fair, 100, () => 100)).toEqual({ busy: 50, late: 50 });
  });

  test("begins with who came first, and does not think of those that left", () => {
    const fair = order();
    for (const name of ["a", "b", "c"]) fair.join(name, 1, NOON);
    fair.leave("a");
    fair.join("a", 1, NOON);
    expect([...fair.waitingFlows()].map(({ name }) => name)).toEqual(["b", "c", "a"]);
    fair.leave("b");
    expect([fair.next(NOON), fair.next(NOON + LONGEST_UNSERVED_MS + 1)]).toEqual(["c", "c"]);
    for (const name of ["c", "a"]) fair.leave(name);
    expect(fair.isOver).toBe(true);
    fair.serve("direct", fair.charge("direct", 1, asked(1)), NOON);
    expect(fair.next(NOON + LONGEST_UNSERVED_MS + 1)).toBeNull();
  });

  test("remembers the debt of a flow that waits with one job at a time", () => {
    const fair = order();
    fair.join("flood", 1, NOON, 1_000);
    const served = { flood: 0, single: 0 };
    for (let turn = 0; turn < 110; turn += 1) {
      if (fair.waitingOf("single") === 0) fair.join("single", 1, NOON);
      const flow = serveNext(fair, fair.next(NOON) === "single" ? 1_000 : 100) as keyof typeof served;
      fair.end(flow, null);
      served[flow] += 1;
    }
    expect(served).toEqual({ flood: 100, single: 10 });
  });

  test("forgives debts beyond its room for them, and nothing of the waiting", () => {
    const debts = { left: 1 };
    const fair = new FairOrder(debts);
    fair.join("stays", 1, NOON, 10);
    for (const name of ["a", "b"]) {
      fair.join(name, 1, NOON);
      const share = fair.charge(name, 1, asked(1_000));
      fair.serve(name, share, NOON);
      fair.leave(name);
      fair.end(name, null);
    }
    expect(debts.left).toBe(0);
    expect([fair.charge("a", 1, asked(1)).from, fair.charge("b", 1, asked(1)).from]).toEqual([1_000, 0]);
    fair.join("a", 1, NOON);
    expect(debts.left).toBe(1);
    fair.leave("a");
    expect([debts.left, fair.charge("a", 1, asked(1)).from]).toEqual([0, 1_000]);
    fair.drop();
    expect(debts.left).toBe(1);
  });

  test("has room for another debt once an earlier one is over", () => {
    const debts = { left: 1 };
    const fair = new FairOrder(debts);
    fair.join("stays", 1, NOON, 100);
    const indebt = (name: string) => {
      fair.serve(name, fair.charge(name, 1, asked(1_000)), NOON);
      fair.end(name, null);
      return fair.charge(name, 1, asked(1)).from;
    };
    expect([indebt("early"), debts.left]).toEqual([1_000, 0]);
    serveMany(fair, 20, () => 100);
    expect([indebt("later"), debts.left]).toEqual([2_900, 0]);
  });

  test("corrects an estimate, and charges nothing for what was given back", () => {
    const fair = order();
    for (const name of ["a", "b"]) fair.join(name, 1, NOON, 100);
    const first = fair.charge("a", 1, asked(100, null));
    fair.serve("a", first, NOON);
    expect(fair.next(NOON)).toBe("b");
    fair.correct("a", first, 10, 5);
    fair.end("a", null);
    expect(fair.charge("a", 1, asked(0))).toMatchObject({ from: 10 });
    const second = fair.charge("b", 1, asked(100));
    fair.serve("b", second, NOON);
    expect(fair.next(NOON)).toBe("a");
    fair.end("b", second);
    expect(fair.next(NOON)).toBe("b");
    const third = fair.charge("b", 2, asked(100));
    fair.serve("b", third, NOON);
    expect(fair.charge("b", 2, asked(0)).from).toBe(50);
    fair.correct("b", third, 60, 5);
    expect(fair.charge("b", 2, asked(0)).from).toBe(30);
    fair.end("b", null);
    const fourth = fair.charge("b", 2, asked(100));
    fair.serve("b", fourth, NOON);
    fair.end("b", fourth);
    expect(fair.charge("b", 2, asked(0)).from).toBe(30);
  });

  test("keeps what a correction gives back to a flow that waits, also before the time of the one served last", () => {
    const fair = order();
    for (const name of ["a", "b"]) fair.join(name, 1, NOON, 100);
    const shares = ["a", "b", "a", "b"].map((name) => {
      const share = fair.charge(name, 1, asked(1_000));
      fair.serve(name, share, NOON);
      return { name, share };
    });
    for (const { name, share } of shares.filter((one) => one.name === "a")) fair.correct(name, share, 10, 10);
    const back = fair.charge("a", 1, asked(1));
    expect(back.from).toBe(20);
    // Who is new has no part in it.
    fair.serve("a", back, NOON);
    expect(fair.charge("new", 1, asked(1)).from).toBe(1_000);
  });

  test("estimates an unbounded answer by the flow's earlier ones", () => {
    const fair = order();
    fair.join("a", 1, NOON, 100);
    const usual = fair.charge("a", 1, asked(0, null));
    fair.serve("a", usual, NOON);
    for (let at = 0; at < 50; at += 1) fair.correct("a", usual, 20, 20);
    expect(fair.charge("a", 1, asked(5, null)).tokens).toBeCloseTo(25, 0);
    expect(fair.charge("a", 1, asked(5, 70)).tokens).toBe(75);
  });

  test("passes no flow over for longer than its bound", () => {
    const fair = order();
    fair.join("poor", 0.01, NOON, 100);
    serveNext(fair, 1_000_000, { poor: 0.01 });
    fair.join("rich", 100, NOON, 1_000_000);
    expect(serveNext(fair, 1, { rich: 100 }, NOON + LONGEST_UNSERVED_MS)).toBe("rich");
    const lateAt = NOON + LONGEST_UNSERVED_MS + 1;
    expect(serveNext(fair, 1, { poor: 0.01 }, lateAt)).toBe("poor");
    expect(serveNext(fair, 1, { rich: 100 }, lateAt)).toBe("rich");
    // A flow that comes now starts beside the rich, not behind what the poor was charged.
    fair.join("new", 1, lateAt);
    expect(fair.charge("new", 1, asked(1)).from).toBeLessThan(10);
  });

  test("passes no flow over for one that has waited since before it, and was served since", () => {
    const fair = order();
    fair.join("rich", 100, NOON, 1_000_000);
    fair.serve("poor", fair.charge("poor", 0.01, asked(1_000_000)), NOON);
    fair.join("poor", 0.01, NOON, 100);
    expect(serveNext(fair, 1, { rich: 100 }, NOON + LONGEST_UNSERVED_MS)).toBe("rich");
    expect(fair.next(NOON + LONGEST_UNSERVED_MS + 1)).toBe("poor");
  });

  test("knows a flow's share by its weight of today, among those that wait", () => {
    const fair = order();
    const share = (name: string) => fair.waitingFlow(name)?.share;
    for (const name of ["a", "b"]) fair.join(name, 1, NOON);
    fair.serve("a", fair.charge("a", 3, asked(100)), NOON);
    expect([share("a"), share("b")]).toEqual([0.75, 0.25]);
    fair.leave("a");
    expect([share("a"), share("b")]).toEqual([undefined, 1]);
    fair.join("a", 4, NOON);
    expect([share("a"), share("b")]).toEqual([0.8, 0.2]);
    fair.leave("a");
    fair.serve("a", fair.charge("a", 9, asked(100)), NOON);
    expect(share("b")).toBe(1);
  });

  test("counts what goes before a job no further than a thousand flows", () => {
    const fair = order();
    for (let flow = 0; flow <= 1_001; flow += 1) fair.join(`flow ${flow}`, 1, NOON, 2);
    expect(fair.othersBefore("flow 1000", 0)).toEqual({ count: 1_000, isMore: false });
    expect(fair.othersBefore("flow 1001", 0)).toEqual({ count: 1_000, isMore: true });
  });

  test("counts what goes before a job, and its share", () => {
    const fair = order();
    fair.join("a", 2, NOON, 10);
    fair.join("b", 1, NOON, 1);
    fair.join("c", 1, NOON, 10);
    expect(fair.waitingFlow("c")).toMatchObject({ name: "c", weight: 1, waiting: 10, share: 0.25 });
    const before = ["a", "b", "c", "nobody"].map((name) => fair.othersBefore(name, 0));
    expect(before).toEqual([0, 1, 2, 0].map((count) => ({ count, isMore: false })));
    // While one more of c is served, two of a are; b has only one.
    expect(fair.othersBefore("c", 1)).toEqual({ count: 3, isMore: false });
    expect([...fair.waitingFlows()].map(({ name }) => name)).toEqual(["a", "b", "c"]);
  });

  test("never starves, never idles: any flow that stays is served in its share", () => {
    const flows = ["a", "b", "c", "d"] as const;
    const flow = fc.record({
      weight: fc.constantFrom(0.5, 1, 2, 4),
      tokens: fc.integer({ min: 1, max: 500 }),
    });
    fc.assert(
      fc.property(fc.tuple(flow, flow, flow, flow), fc.integer({ min: 50, max: 400 }), (given, turns) => {
        const fair = order();
        const of = (name: string) => given[flows.indexOf(name as "a")] ?? { weight: 1, tokens: 1 };
        for (const name of flows) fair.join(name, of(name).weight, NOON, 1_000);
        const served = new Map<string, number>();
        for (let turn = 0; turn < turns; turn += 1) {
          const name = fair.next(NOON) ?? "";
          const { weight, tokens } = of(name);
          fair.serve(name, fair.charge(name, weight, asked(tokens)), NOON);
          fair.leave(name);
          fair.end(name, null);
          served.set(name, (served.get(name) ?? 0) + tokens / weight);
        }
        // Two flows that both wait all the time differ by no more than one job of each.
        const times = flows.map((name) => served.get(name) ?? 0);
        const longest = Math.max(...given.map(({ tokens, weight }) => tokens / weight));
        expect(Math.max(...times) - Math.min(...times)).toBeLessThanOrEqual(longest + 1e-6);
      }),
    );
  });
});

describe("flows", () => {
  const place = { groupKey: "g", priority: "normal", flow: "k/" } as const;

  test("are of the key, of its person, or of nobody; a job's own name binds", () => {
    const asking = { keyId: "k", fairnessKey: null, user: "ann" };
    expect((["key", "user", "none"] as const).map((by) => flowOf(asking, by))).toEqual(["k/", "k/ann", COMMON_FLOW]);
    const own = { ...asking, fairnessKey: "team/7" };
    expect((["key", "user", "none"] as const).map((by) => flowOf(own, by))).toEqual(Array(3).fill("k/team/7"));
    expect(flowOf({ keyId: null, fairnessKey: null, user: null }, "user")).toBe(COMMON_FLOW);
    expect(ownerOf("k/team/7")).toEqual({ keyId: "k", name: "team/7" });
    expect(ownerOf(COMMON_FLOW)).toEqual({ keyId: null, name: null });
  });

  test("are read from a lane again", () => {
    const spaced = { ...place, flow: "k/of two words" };
    expect(placeOfLane("g", laneOf(spaced))).toEqual(spaced);
  });

  test("live while a job waits or runs", () => {
    const flows = new Flows();
    flows.join(place, 1, NOON);
    flows.join({ ...place, flow: "other/" }, 1, NOON);
    expect([flows.waiting, flows.orders.size]).toEqual([2, 1]);
    const share: Charge = flows.charge(place, 1, asked(1));
    flows.serve(place, share, NOON);
    flows.leave(place);
    flows.leave({ ...place, flow: "other/" });
    expect([flows.waiting, flows.orders.size]).toEqual([0, 1]);
    flows.end(place, null);
    flows.end(place, null);
    expect([flows.waiting, flows.orders.size]).toEqual([0, 0]);
  });
});

describe("a heap", () => {
  interface Item {
    readonly name: number;
    value: number;
    at: number;
  }
  const step = fc.record({ name: fc.nat(12), value: fc.nat(50), isRemoved: fc.boolean() });

  test("has the same order as a sorted list, whatever came, went and moved", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const heap = new Heap<Item>((one, other) => one.value - other.value < 0);
        const items = new Map<number, Item>();
        for (const { name, value, isRemoved } of steps) {
          const known = items.get(name);
          if (known === undefined) {
            const item = { name, value: value + name / 100, at: -1 };
            items.set(name, item);
            heap.add(item);
          } else if (isRemoved) {
            items.delete(name);
            heap.remove(known);
            expect(known.at).toBe(-1);
          } else {
            known.value = value + name / 100;
            heap.moved(known);
          }
          const sorted = [...items.values()].sort((one, other) => one.value - other.value);
          expect(heap.first).toBe(sorted[0] ?? null);
          expect([...heap.inOrder()]).toEqual(sorted);
        }
      }),
    );
  });
});
