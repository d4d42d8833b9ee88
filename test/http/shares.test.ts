// Fair shares: what one key, one tenant and one address may have in progress, and what each lane reserves.

import { describe, expect, it } from "vitest";
import { err } from "../../domain/words/result.ts";
import { endpoints } from "../../src/app.ts";
import { MAX_DOOR_BODY_BYTES } from "../../src/front-door/request/body.ts";
import type { Lane } from "../../src/home.ts";
import { laneOf } from "../../src/http/lanes.ts";
import { BOUNDS, type Holder, Shares } from "../../src/http/shares.ts";

const key: Holder = { kind: "key", id: "t/a" };
const otherKey: Holder = { kind: "key", id: "t/b" };
const tenant: Holder = { kind: "tenant", id: "t" };
const stranger: Holder = { kind: "stranger", id: "192.0.2.1" };
const MIB = 1024 * 1024;

const take = (shares: Shares, holders: readonly Holder[], lane: Lane = "usual", bytes = 0, nowAt = 0) => {
  const taken = shares.take(holders, lane, bytes, nowAt);
  return taken.ok ? taken.value : null;
};

const takeMany = (shares: Shares, count: number, holders: readonly Holder[], lane: Lane = "usual", bytes = 0) =>
  Array.from({ length: count }, () => take(shares, holders, lane, bytes)).filter((share) => share !== null);

describe("what is under way", () => {
  it.each(["key", "tenant", "stranger"] as const)("of one %s is bounded by its requests", (kind) => {
    const shares = new Shares();
    const holder = { kind, id: "one" };
    const taken = takeMany(shares, BOUNDS.usual[kind].requests + 5, [holder]);
    expect(taken.length).toBe(BOUNDS.usual[kind].requests);
    taken[0]?.release();
    expect(take(shares, [holder], "usual", 0, 0)).not.toBe(null);
    expect(take(shares, [{ kind, id: "another" }], "usual", 0, 0)).not.toBe(null);
  });

  it("of one key is bounded by the bytes of its bodies, of a tenant by those of all its keys", () => {
    const shares = new Shares();
    expect(takeMany(shares, 20, [key, tenant], "usual", MIB).length).toBe(8);
    expect(takeMany(shares, 20, [otherKey, tenant], "usual", MIB).length).toBe(8);
    expect(takeMany(shares, 20, [{ kind: "key", id: "t/c" }, tenant], "usual", MIB).length).toBe(0);
    expect(
      take(
        shares,
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
    expect(take(shares, [key, tenant], "usual", 0, 0)).toBe(null);
    expect(take(shares, [key, tenant], "vital", MIB, 0)).not.toBe(null);
    expect(take(shares, [key, tenant], "waiting", 0, 0)).not.toBe(null);
  });

  it("takes nothing of any holder where one has no room", () => {
    const shares = new Shares();
    takeMany(shares, BOUNDS.usual.key.requests, [key]);
    for (let times = 0; times < BOUNDS.usual.tenant.requests; times += 1) take(shares, [key, tenant], "usual", 0, 0);
    expect(takeMany(shares, 1, [otherKey, tenant]).length).toBe(1);
  });

  it("gives a share back once, and that of a request whose end was never told after two minutes", () => {
    const shares = new Shares();
    const [first] = takeMany(shares, BOUNDS.usual.stranger.requests, [stranger]);
    first?.release();
    first?.release();
    expect(takeMany(shares, 5, [stranger]).length).toBe(1);
    expect(take(shares, [stranger], "usual", 0, 119_999)).toBe(null);
    expect(take(shares, [stranger], "usual", 0, 120_000)).not.toBe(null);
  });
});

it("the longest body fits into an isolate in which workers and clients wait with small ones", () => {
  const shares = new Shares();
  const isolate: Holder = { kind: "isolate", id: "" };
  expect(takeMany(shares, 30, [isolate], "waiting", 64 * 1024).length).toBe(30);
  expect(take(shares, [isolate], "waiting", MAX_DOOR_BODY_BYTES)).not.toBe(null);
  expect(take(shares, [isolate], "waiting", MAX_DOOR_BODY_BYTES)).toBe(null);
});

describe("a share", () => {
  const full = (shares: Shares) => takeMany(shares, 100, [key], "waiting", 16 * MIB).length;

  it("gives its bytes back when the body is no longer in memory, and only once", () => {
    const shares = new Shares();
    const one = take(shares, [key], "waiting", 48 * MIB);
    one?.freeBytes();
    one?.freeBytes();
    expect(full(shares)).toBe(4);
    one?.release();
    one?.freeBytes();
    expect(full(shares)).toBe(0);
  });

  it("grows with a body of unknown length, as far as each holder has room, and gives all of it back", () => {
    const shares = new Shares();
    const one = take(shares, [key], "waiting", 0);
    const other = take(shares, [key], "waiting", 32 * MIB);
    expect(one?.grow(32 * MIB)).toEqual({ ok: true, value: null });
    expect(one?.grow(1)).toEqual({ ok: false, error: "key" });
    other?.release();
    // Alone a body always fits.
    expect(one?.grow(64 * MIB)).toEqual({ ok: true, value: null });
    one?.release();
    expect(full(shares)).toBe(4);
  });

  it("gives back what it had, and what it grew by, while others of its holder go on", () => {
    const shares = new Shares();
    take(shares, [key], "waiting");
    const one = take(shares, [key], "waiting", 32 * MIB);
    one?.grow(16 * MIB);
    one?.release();
    expect(full(shares)).toBe(4);
  });

  it("may be larger than its holder's bound where it has no other, and then none fits beside it", () => {
    const shares = new Shares();
    expect(take(shares, [key], "usual", 100 * MIB)).not.toBe(null);
    expect(take(shares, [key], "usual", 1)).toBe(null);
  });

  it("counts as one of its key's requests in each lane but the vital one", () => {
    const shares = new Shares();
    for (const lane of ["usual", "heavy", "heavy", "waiting", "waiting", "vital"] as const) take(shares, [key], lane);
    take(shares, [otherKey]);
    expect(shares.underWay(key.id)).toBe(5);
  });

  it("of a stream that shows that it is there is kept, however long it takes", () => {
    const shares = new Shares();
    const all = takeMany(shares, BOUNDS.usual.stranger.requests, [stranger]);
    for (const one of all) one.renew(100_000);
    expect(take(shares, [stranger], "usual", 0, 219_999)).toBe(null);
    expect(take(shares, [stranger], "usual", 0, 220_000)).not.toBe(null);
  });

  it("is refused where the whole process is in use, which is not the key's fault", () => {
    const shares = new Shares();
    const process: Holder = { kind: "process", id: "" };
    for (let id = 0; id < 4; id += 1) take(shares, [{ kind: "key", id: `${id}` }, process], "waiting", 64 * MIB);
    expect(shares.take([{ kind: "key", id: "x" }, process], "waiting", MIB, 0)).toEqual(err("process"));
    expect(take(shares, [{ kind: "key", id: "x" }, process], "vital", MIB)).not.toBe(null);
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

/** Each goes over all of something that a key can make large, in the thread that serves all tenants. */
it.each([
  "/dispatch/explain",
  "/v1/models",
  "/v1/models/{model}",
  "/api/keys",
  "/api/schedules",
  "/api/jobs",
  "/api/workers",
])("GET %s is heavy: of a tenant one is read at a time", (path) => {
  const found = endpoints.find(({ description }) => description.path === path && description.method === "get");
  expect(found?.description.lane).toBe("heavy");
});

it("each list that is read in pages is heavy, too", () => {
  const pages = endpoints.filter(
    ({ description: { method, query } }) => method === "get" && "limit" in (query?.shape ?? {}),
  );
  expect(pages.length).toBeGreaterThan(10);
  expect(
    pages.filter(({ description }) => description.lane !== "heavy").map(({ description }) => description.path),
  ).toEqual([]);
});
