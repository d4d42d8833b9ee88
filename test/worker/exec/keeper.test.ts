import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { freshWith } from "../../support/fresh-modules.ts";

it("starts where a child's stdin cannot be let go, as under Bun", async () => {
  const written: string[] = [];
  const stdin = Object.assign(new EventEmitter(), { write: (line: string) => written.push(line) });
  const shell = Object.assign(new EventEmitter(), { stdin, unref: () => undefined });
  const load = () => import("../../../worker/exec/keeper.ts");
  const { Keeper } = await freshWith("node:child_process", () => ({ spawn: () => shell }), load);
  const keeper = new Keeper();
  keeper.begin(7, 1_000);
  keeper.end(7);
  expect(written).toEqual(["begin 7\n", "end 7\n"]);
});
