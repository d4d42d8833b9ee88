import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { expect, it, vi } from "vitest";
import { Keeper } from "../../../worker/exec/keeper.ts";

const written: string[] = [];

vi.mock("node:child_process", () => ({
  spawn: () =>
    Object.assign(new EventEmitter(), {
      stdin: Object.assign(new EventEmitter(), { write: (line: string) => written.push(line) }),
      unref: () => undefined,
    }) as unknown as ChildProcess,
}));

it("starts where a child's stdin cannot be let go, as under Bun", () => {
  const keeper = new Keeper();
  keeper.begin(7, 1_000);
  keeper.end(7);
  expect(written).toEqual(["begin 7\n", "end 7\n"]);
});
