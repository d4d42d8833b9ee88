// Reports of the object that calls providers, while its tenant's object is away.

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { LeasedJob } from "../../contract/fleet/worker.ts";
import type { JobReport } from "../../contract/socket.ts";
import type { Runner } from "../../src/runner/runner.ts";

it("are repeated until the tenant has heard them", async () => {
  const runner = env.RUNNER.getByName("lost-reports/edge-nobody-0") as unknown as DurableObjectStub<Runner>;
  const heard: string[] = [];
  await runInDurableObject(runner, async (instance) => {
    const away = { count: 2 };
    const hearRunner = async (_: string, { type }: JobReport): Promise<boolean> => {
      away.count -= 1;
      if (away.count >= 0) throw new Error("the tenant's object is starting again");
      heard.push(type);
      return true;
    };
    Object.assign(instance, { tenant: () => ({ hearRunner }) });
    const job = { id: "job", lease: 1, stream: false } as LeasedJob;
    await instance.hear({ messages: [{ type: "job.assigned", job }], jurisdiction: null } as never);
    await expect.poll(() => heard).toEqual(["job.released"]);
  });
});
