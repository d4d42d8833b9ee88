// /metrics with the operator's root key: all tenants at once.

import { describe, expect, it } from "vitest";
import { newWorld, ROOT_KEY, request } from "../support/workerd/client.ts";

describe("/metrics with the root key", () => {
  it("has what each tenant's own metrics have, with the tenant's name", async () => {
    const [one, other] = [await newWorld(), await newWorld()];
    // Other tests' tenants may be so many that only the busiest have their name here.
    for (const world of [one, other]) {
      const jobs = Array.from({ length: 500 }, () => ({ prompt: "x", tags: ["gone"] }));
      await world.ok("POST", "/api/jobs/batch", { jobs });
      await world.ok("POST", "/api/jobs/bulk", { action: "cancel", filter: { tag: "gone" } });
    }
    for (const world of [one, one, other]) await world.ok("POST", "/api/jobs", { prompt: "x", tags: ["nobody"] });
    for (const world of [one, other]) await world.ok("GET", "/api/jobs");
    await other.ok("POST", "/killswitch", { level: 2, reason: "drill" });
    const answer = await request(ROOT_KEY, "GET", "/metrics");
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, expect.stringContaining("text/plain")]);
    const lines = answer.text.split("\n");
    expect(lines).toContain(`signalbox_queue_jobs{tenant="${one.tenant}"} 2`);
    expect(lines).toContain(`signalbox_queue_jobs{tenant="${other.tenant}"} 1`);
    expect(lines).toContain(`signalbox_killswitch_level{tenant="${other.tenant}"} 2`);
    expect(answer.text).toMatch(/^signalbox_tenants_unread \d+$/m);
    const described = (text: string) => text.split("\n").filter((line) => line.startsWith("# TYPE"));
    const own = described((await one.get("/metrics")).text);
    expect(described(answer.text)).toEqual(expect.arrayContaining(own));
    expect(new Set(described(answer.text)).size).toBe(described(answer.text).length);
    expect(answer.text).not.toContain("drill");
    // Behind a proxy that asks for a password, which has the other header.
    const headers = { authorization: "Basic bWU6c2VjcmV0", "x-api-key": ROOT_KEY };
    expect((await request(null, "GET", "/metrics", undefined, { headers })).text).toContain("signalbox_tenants_unread");
  });

  it("is for the root key alone: a tenant's key sees its own, another nothing", async () => {
    const [one, other] = [await newWorld(), await newWorld()];
    await one.ok("POST", "/api/jobs", { prompt: "x", tags: ["nobody"] });
    const own = await other.get("/metrics");
    expect(own.text).toContain("signalbox_queue_jobs 0");
    expect(own.text).not.toContain(one.tenant);
    expect((await request(`${ROOT_KEY}x`, "GET", "/metrics")).status).toBe(401);
    expect((await request(null, "GET", "/metrics")).status).toBe(401);
  });
});
