import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { afterAll, expect, it, vi } from "vitest";

afterAll(() => {
  vi.doUnmock("node:child_process");
  vi.resetModules();
});

it("starts where a child's stdin cannot be let go, as under Bun", async () => {
  const written: string[] = [];
  const stdin = Object.assign(new EventEmitter(), { write: (line: string) => written.push(line) });
  const shell = Object.assign(new EventEmitter(), { stdin, unref: () => undefined }) as unknown as ChildProcess;
  // Another file of this process may have loaded it with the true one.
  vi.resetModules();
  vi.doMock("node:child_process", () => ({ spawn: () => shell }));
  const { Keeper } = await import("../../../worker/exec/keeper.ts");
  const keeper = new Keeper();
  keeper.begin(7, 1_000);
  keeper.end(7);
  expect(written).toEqual(["begin 7\n", "end 7\n"]);
});
