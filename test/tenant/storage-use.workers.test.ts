// Before a bound of storage is reached, its operator hears of it: one audit entry, a metric, and a line on the dashboard.

import { describe, expect, it } from "vitest";
import { nextStorageNoteAt, noteStorage, storageState } from "../../durable-objects/placing/storage-use.ts";
import type { StorageBounds } from "../../durable-objects/turn/memory/storage-memory.ts";
import type { Turn } from "../../durable-objects/turn/turn.ts";
import { bareTurns } from "../support/workerd/bare-turns.ts";
import { alarm, type Body, newWorld, ROOT_KEY, request, type World } from "../support/workerd/client.ts";

const bound = (world: World, maxGb: number | null): Promise<Body> =>
  request(ROOT_KEY, "PATCH", `/admin/tenants/${world.tenant}`, { max_gb: maxGb }).then(({ body }) => body);

const noted = async (world: World): Promise<Body[]> =>
  (await world.ok("GET", "/api/audit?action=storage.filling")).entries;

const shareOf = async (world: World, place: string): Promise<number> => {
  const { text } = await world.get("/metrics");
  return Number(new RegExp(`^signalbox_storage_used_ratio\\{place="${place}"\\} (\\S+)$`, "m").exec(text)?.[1]);
};

describe("a tenant that fills up", () => {
  it("is noted once at 70 % of its bound, and again after it had room", async () => {
    const world = await newWorld();
    const { stored_bytes: bytes } = await bound(world, 1);
    expect(await noted(world)).toEqual([]);
    expect(await shareOf(world, "tenant")).toBeLessThan(0.01);
    await bound(world, bytes / 0.8 / 1e9);
    expect(await shareOf(world, "tenant")).toBeGreaterThan(0.7);
    expect(await noted(world)).toMatchObject([{ target: "tenant", actor: { name: "signalbox" } }]);
    await alarm(world);
    await bound(world, bytes / 0.82 / 1e9);
    expect(await noted(world)).toHaveLength(1);
    await bound(world, 1);
    await bound(world, bytes / 0.8 / 1e9);
    expect(await noted(world)).toHaveLength(2);
  });
});

describe("the object's own database, and the history's", () => {
  const GB = 1e9;
  const inTenant = <T>(name: string, bounds: Partial<StorageBounds>, use: (turn: () => Turn) => T): Promise<T> =>
    bareTurns(name, 0, ({ turnAt }) => use(() => turnAt(0)), {
      maxGb: 1,
      liveBytes: GB,
      historyBytes: null,
      ...bounds,
    });

  it("is noted when it fills, and says what to do", async () => {
    await inTenant("fills-live", { liveBytes: 1 }, (begin) => {
      const turn = begin();
      expect(nextStorageNoteAt(turn)).toBe(turn.nowAt);
      noteStorage(turn);
      expect(nextStorageNoteAt(turn)).toBeNull();
      expect(turn.memory.storage.filling).toEqual(["live"]);
      expect(storageState(turn).storage_warnings).toEqual([expect.stringContaining("live state takes")]);
    });
  });

  it("warns of the history's database from its size on, keeps that while the size is unknown, and ends with room", async () => {
    await inTenant("fills-history", { historyBytes: 10 * GB }, (begin) => {
      const at = (databaseBytes: number | null) => {
        const turn = begin();
        turn.memory.storage.sizes.databaseBytes = databaseBytes;
        noteStorage(turn);
        return [turn.memory.storage.filling, turn.effects.log.map(({ event }) => event)];
      };
      expect(at(null)).toEqual([[], []]);
      expect(at(6.9 * GB)).toEqual([[], []]);
      expect(at(7 * GB)).toEqual([["history"], ["storage.filling"]]);
      expect(storageState(begin()).storage_warnings).toEqual([
        "The history's database holds 7 of 10 GB (70 %). At the bound history stops: shorten history.keep_days.",
      ]);
      expect(at(6.6 * GB)).toEqual([["history"], []]);
      expect(at(null)).toEqual([["history"], []]);
      expect(at(6.4 * GB)).toEqual([[], []]);
    });
  });

  it("has the size that the last drain told of", async () => {
    const world = await newWorld();
    await world.ok("POST", "/api/jobs", { prompt: "x" });
    await world.ok("GET", "/api/jobs");
    expect(await shareOf(world, "history")).toBeGreaterThan(0);
    expect(await shareOf(world, "live")).toBeGreaterThan(0);
  });
});
