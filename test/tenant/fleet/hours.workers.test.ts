// Section 18, hours: outside them a worker is given nothing, and everything that explains says until when.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { alarm, inStorage } from "../../support/workerd/client.ts";
import { create, present, read, useOwnTenant, world } from "../../support/workerd/own-tenant.ts";

useOwnTenant();

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** All of another day of the week: closed now, whenever that is. */
const otherDay = (): string => `${DAYS[(new Date().getUTCDay() + 3) % 7]} 00:00-24:00`;
const setHours = (hours: string | null) => world.ok("PUT", "/api/workers/w1/hours", { hours, timezone: "UTC" });

/** The time at which it opens or closes has come. */
const changeNow = async (): Promise<void> => {
  await inStorage(world, (storage) => {
    storage.sql.exec("UPDATE workers SET record = json_set(record, '$.opening.changesAt', ?)", Date.now() - 1);
  });
  await evictDurableObject(world.stub);
};

describe("a worker with hours", () => {
  it("is unavailable outside them, over restarts, and says until when, while its running jobs go on", async () => {
    await present("w1", { concurrency: 2 });
    const running = await create();
    await world.ok("POST", `/api/jobs/${running.id}/start`, { lease: 1 });
    const hours = otherDay();
    const closed = await setHours(hours);
    const words = expect.stringMatching(/^outside its hours until [A-Z][a-z]{2} 00:00 UTC$/);
    expect(closed).toMatchObject({ unavailable: words, hours: { hours, timezone: "UTC" }, current_load: 1 });
    const waiting = await create();
    const reason = `worker "w1" is unavailable: ${closed.unavailable}`;
    expect(await read(waiting.id)).toMatchObject({ status: "pending", waiting_reason: reason });
    const explained = await world.ok("GET", `/dispatch/explain?job_id=${waiting.id}`);
    expect(explained.workers[0].reasons).toEqual([`unavailable: ${closed.unavailable}`]);
    await evictDurableObject(world.stub);
    expect((await present("w1", { concurrency: 2 })).worker).toMatchObject({ unavailable: words });
    expect(await read(waiting.id)).toMatchObject({ status: "pending" });
    expect((await world.ok("GET", "/api/workers?state=unavailable")).total).toBe(1);
    expect(await world.ok("POST", `/api/jobs/${running.id}/complete`, { lease: 1, result: 1 })).toMatchObject({
      status: "completed",
    });
    expect(await setHours(null)).toMatchObject({ unavailable: null, hours: null });
    expect(await read(waiting.id)).toMatchObject({ status: "assigned" });
  });

  it("opens and closes by the alarm, at its time", async () => {
    await present("w1", { concurrency: 2 });
    // An instant that is over was computed for the hours before it: the alarm computes the next.
    await setHours("00:00-24:00");
    const words = "outside its hours until 00:00 UTC";
    await inStorage(world, (storage) => {
      const closed = { isOpen: false, sinceAt: 0, changesAt: null, words };
      const given = JSON.stringify({ hours: "00:00-24:00", timezone: "UTC", ...closed });
      storage.sql.exec("UPDATE workers SET record = json_set(record, '$.opening', json(?))", given);
    });
    await evictDurableObject(world.stub);
    const { id } = await create();
    expect(await read(id)).toMatchObject({ status: "pending" });
    await changeNow();
    await world.get("/killswitch");
    await alarm(world);
    await expect.poll(async () => (await read(id)).status).toBe("assigned");
    expect(await world.ok("GET", "/api/workers/w1")).toMatchObject({ unavailable: null });
  });

  it("is refused hours that nobody can read, and stands in the audit with those it got", async () => {
    await present("w1");
    for (const [body, path] of [
      [{ hours: "at night" }, "hours"],
      [{ hours: "Mon 10:00-11:00", timezone: "Berlin" }, "timezone"],
      [{ hours: "Mon 10:00-11:00", zone: "UTC" }, "zone"],
      [{}, "hours"],
    ] as const) {
      const refused = await world.put("/api/workers/w1/hours", body);
      expect([refused.status, refused.body.errors[0].path]).toEqual([400, path]);
    }
    expect((await world.put("/api/workers/nobody/hours", { hours: null })).status).toBe(404);
    await setHours("Mon-Fri 19:00-07:00");
    await expect
      .poll(async () => (await world.ok("GET", "/api/audit")).entries)
      .toContainEqual(
        expect.objectContaining({
          action: "worker.hours",
          target: "w1",
          detail: { hours: "Mon-Fri 19:00-07:00", timezone: "UTC" },
        }),
      );
  });
});
