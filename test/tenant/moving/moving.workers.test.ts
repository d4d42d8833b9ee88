// A tenant's move: it is halted while its rows are copied, and afterwards it is as it was.

import { describe, expect, it } from "vitest";
import { inStorage, newWorld, type World } from "../../support/workerd/client.ts";
import { busyWorld, engage, offer } from "../../support/workerd/halting.ts";

const ELSEWHERE = "https://elsewhere.example";

/** Left and taken back, as a move that is cancelled. */
const leaveAndStay = async (world: World): Promise<void> => {
  expect(await world.stub.leave(ELSEWHERE)).toMatchObject({ ok: true });
  expect((await world.get("/killswitch")).body).toMatchObject({ status: 503, code: "tenant_unavailable" });
  expect(await world.stub.stay()).toMatchObject({ ok: true });
};

describe("a tenant whose move is cancelled", () => {
  it("goes on with its work", async () => {
    const { world, running } = await busyWorld();
    await leaveAndStay(world);
    expect(await world.ok("GET", "/killswitch")).toMatchObject({ level: 0, active: false });
    await world.ok("POST", "/presence", offer("w1"));
    const [worker] = (await world.ok("GET", "/api/workers")).workers;
    expect(worker).toMatchObject({ paused: false });
    expect((await world.ok("GET", `/api/jobs/${running.id}`)).status).toBe("assigned");
  });

  it("runs its schedules on", async () => {
    const { world } = await busyWorld();
    const { next_run_at } = await world.ok("POST", "/api/schedules", { name: "s", interval: "1h", prompt: "p" });
    await leaveAndStay(world);
    const alarmAt = await inStorage(world, (storage) => storage.getAlarm());
    expect(alarmAt).not.toBeNull();
    expect(alarmAt).toBeLessThanOrEqual(Date.parse(next_run_at));
  });

  it("stays halted if its operator had halted it", async () => {
    const { world } = await busyWorld();
    await engage(world, 1, "the bill explodes");
    await leaveAndStay(world);
    expect(await world.ok("GET", "/killswitch")).toMatchObject({ level: 1, reason: "the bill explodes" });
    await world.ok("DELETE", "/killswitch");
    expect((await world.ok("GET", "/api/workers")).workers[0]).toMatchObject({ paused: true });
  });

  it("keeps workers paused that an earlier halt had paused", async () => {
    const { world } = await busyWorld();
    await engage(world, 2);
    await world.ok("DELETE", "/killswitch");
    await leaveAndStay(world);
    expect((await world.ok("GET", "/api/workers")).workers[0]).toMatchObject({ paused: true });
  });

  it("is halted again if its budget asks for that", async () => {
    const world = await newWorld();
    const config = { budget: { day_usd: 1, on_reached: "killswitch" } };
    expect((await world.put("/config", config)).status).toBe(200);
    await world.ok("POST", "/presence", offer("w1"));
    const job = await world.ok("POST", "/dispatch", { prompt: "p" });
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: "r", cost_usd: 2 });
    await leaveAndStay(world);
    expect(await world.ok("GET", "/killswitch")).toMatchObject({ level: 1, activated_by: "signalbox" });
  });
});
