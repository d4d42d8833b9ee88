// Fair shares: what one key, one tenant and one address may have in progress, and what each lane reserves.

import { describe, expect, it } from "vitest";
import { laneOf } from "../../src/http/lanes.ts";
import { BOUNDS, type Holder, Shares } from "../../src/http/shares.ts";

const key: Holder = { kind: "key", id: "t/a" };
const otherKey: Holder = { kind: "key", id: "t/b" };
const tenant: Holder = { kind: "tenant", id: "t" };
const stranger: Holder = { kind: "stranger", id: "192.0.2.1" };
const MIB = 1024 * 1024;

const takeMany = (shares: Shares, count: number, holders: readonly Holder[], lane = "usual" as const, bytes = 0) =>
  Array.from({ length: count }, () => shares.take(holders, lane, bytes, 0)).filter((leave) => leave !== null);

describe("what is under way", () => {
  it.each(["key", "tenant", "stranger"] as const)("of one %s is bounded by its requests", (kind) => {
    const shares = new Shares();
    const holder = { kind, id: "one" };
    const taken = takeMany(shares, BOUNDS.usual[kind].requests + 5, [holder]);
    expect(taken.length).toBe(BOUNDS.usual[kind].requests);
    taken[0]?.();
    expect(shares.take([holder], "usual", 0, 0)).not.toBe(null);
    expect(shares.take([{ kind, id: "another" }], "usual", 0, 0)).not.toBe(null);
  });

  it("of one key is bounded by the bytes of its bodies, of a tenant by those of all its keys", () => {
    const shares = new Shares();
    expect(takeMany(shares, 20, [key, tenant], "usual", MIB).length).toBe(8);
    expect(takeMany(shares, 20, [otherKey, tenant], "usual", MIB).length).toBe(8);
    expect(takeMany(shares, 20, [{ kind: "key", id: "t/c" }, tenant], "usual", MIB).length).toBe(0);
    expect(
      shares.take(
        [
          { kind: "key", id: "u/a" },
          { kind: "tenant", id: "u" },
        ],
        "usual",
        MIB,
        0,
      ),
    ).not.toBe(null);
  });

  it("leaves the lane of the killswitch, reports and heartbeats as it was", () => {
    const shares = new Shares();
    takeMany(shares, 10_000, [key, tenant]);
    expect(shares.take([key, tenant], "usual", 0, 0)).toBe(null);
    expect(shares.take([key, tenant], "vital", MIB, 0)).not.toBe(null);
    expect(shares.take([key, tenant], "waiting", 0, 0)).not.toBe(null);
  });

  it("takes nothing of any holder where one has no room", () => {
    const shares = new Shares();
    takeMany(shares, BOUNDS.usual.key.requests, [key]);
    for (let times = 0; times < BOUNDS.usual.tenant.requests; times += 1) shares.take([key, tenant], "usual", 0, 0);
    expect(takeMany(shares, 1, [otherKey, tenant]).length).toBe(1);
  });

  it("gives a share back once, and that of a request whose end was never told after two minutes", () => {
    const shares = new Shares();
    const [first] = takeMany(shares, BOUNDS.usual.stranger.requests, [stranger]);
    first?.();
    first?.();
    expect(takeMany(shares, 5, [stranger]).length).toBe(1);
    expect(shares.take([stranger], "usual", 0, 119_999)).toBe(null);
    expect(shares.take([stranger], "usual", 0, 120_000)).not.toBe(null);
  });
});

it.each([
  [{ lane: undefined, bodyBytes: 100, isWaiting: false }, "usual"],
  [{ lane: undefined, bodyBytes: 64 * 1024, isWaiting: false }, "heavy"],
  [{ lane: "heavy", bodyBytes: 0, isWaiting: false }, "heavy"],
  [{ lane: "vital", bodyBytes: MIB, isWaiting: false }, "vital"],
  [{ lane: undefined, bodyBytes: 0, isWaiting: true }, "waiting"],
] as const)("%o takes the lane %s", (asked, lane) => {
  expect(laneOf(asked)).toBe(lane);
});
