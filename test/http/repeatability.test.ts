// After a lost answer the edge asks the tenant's object again, if that is safe.

import { beforeAll, describe, expect, it } from "vitest";
import { OPERATIONS, type OperationName } from "../../durable-objects/api.ts";
import type { Env } from "../../src/env.ts";
import { callTenant } from "../../src/tenant/tenant.ts";

const TOKEN = { kind: "key", id: "k", hash: "h", tenant: "t", jurisdiction: null } as never;

beforeAll(() => {
  Object.assign(globalThis, { scheduler: { wait: async () => {} } });
});

/** How often the object receives a call whose answers are all lost. */
const triesOf = async (name: OperationName): Promise<number> => {
  let tries = 0;
  const lost = async () => {
    tries += 1;
    throw Object.assign(new Error("the object was reset"), { retryable: true });
  };
  const env = { TENANT: { getByName: () => ({ callText: lost }) } } as unknown as Env;
  await callTenant(env, TOKEN, name, null as never).catch(() => null);
  return tries;
};

describe("a call whose answer is lost", () => {
  it.each([
    "createJob",
    "createJobs",
    "dispatch",
    "cancelJob",
    "retryJob",
    "createSchedule",
    "deleteSchedule",
    "runSchedule",
    "forgetWorker",
    "replaceConfig",
    "endSession",
  ] as const)("of %s is not repeated: a second call would act again, or be refused", async (name) => {
    expect(await triesOf(name)).toBe(1);
  });

  it("is repeated where the row of the operation says that it is safe", async () => {
    for (const [name, { isRepeatable }] of Object.entries(OPERATIONS)) {
      expect([name, (await triesOf(name as OperationName)) > 1]).toEqual([name, isRepeatable]);
    }
  });
});
