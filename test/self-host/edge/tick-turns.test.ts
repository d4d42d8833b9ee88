// Work of one tenant, or one key, beside that of others in turns of the event loop.

import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { MAX_WAITING, TickTurns } from "../../../self-host/edge/tick-turns.ts";

it("begins a few of one name in each turn, in their order, and another name's at once", async () => {
  const turns = new TickTurns(2);
  const begun: string[] = [];
  const begin = (name: string, what: string): void => {
    const turn = turns.take(name);
    if (turn === null) begun.push(what);
    else void turn.then(() => begun.push(what));
  };
  for (let at = 0; at < 5; at += 1) begin("many", String(at));
  begin("other", "other");
  expect(begun).toEqual(["0", "1", "other"]);
  await nextTurn();
  expect(begun).toEqual(["0", "1", "other", "2", "3"]);
  begin("many", "late");
  await nextTurn();
  expect(begun.slice(5)).toEqual(["4", "late"]);
  await nextTurn();
  begin("many", "again");
  expect(begun.at(-1)).toBe("again");
});

it("begins at once when very many wait", () => {
  const turns = new TickTurns(1);
  turns.take("t");
  for (let at = 0; at < MAX_WAITING; at += 1) expect(turns.take("t")).not.toBeNull();
  expect(turns.take("t")).toBeNull();
});
