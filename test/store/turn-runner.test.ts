// What is left to do after a commit.

import { expect, test, vi } from "vitest";
import { TurnRunner } from "../../durable-objects/calls/turn-runner.ts";

type Tools = ConstructorParameters<typeof TurnRunner>[0];

test("a socket that the platform refuses keeps nothing else from being told, nor the alarm from being set", async () => {
  const complaint = vi.spyOn(console, "error").mockReturnValue(undefined);
  const told: string[] = [];
  const runner = new TurnRunner({
    tenant: "t",
    storage: { transactionSync: (work: () => unknown) => work() },
    store: { jobs: { isCrowded: () => false, makeRoom: () => false } },
    sockets: { flush: () => told.push("frames") },
    wake: { armNoted: () => told.push("alarm") },
  } as unknown as Tools);
  const refused = () => {
    throw new Error("too many sockets");
  };
  const answer = await runner.run(() => {
    for (const effect of [() => told.push("first"), refused, () => told.push("second")]) runner.afterCommit(effect);
    return "stored";
  });
  expect([answer, told]).toEqual(["stored", ["first", "second", "frames", "alarm"]]);
  expect(complaint).toHaveBeenCalledOnce();
  complaint.mockRestore();
});
