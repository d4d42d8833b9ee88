// Work of one tenant, or one key, beside that of others in turns of the event loop.

import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { MAX_WAITING, TickTurns } from "../../../self-host/edge/turns/tick-turns.ts";

it("begins a few of one name in each turn, in their order, and another name's at once", async () => {
  const turns = new TickTurns(() => 2);
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
  const turns = new TickTurns(() => 1);
  turns.take("t");
  for (let at = 0; at < MAX_WAITING; at += 1) expect(turns.take("t")).not.toBeNull();
  expect(turns.take("t")).toBeNull();
});

it("counts what each takes by its size; what is larger than a turn has one of its own", async () => {
  const turns = new TickTurns(() => 10);
  const begun: number[] = [];
  for (const size of [4, 4, 4, 20, 6, 4]) {
    const turn = turns.take("t", size);
    if (turn === null) begun.push(size);
    else void turn.then(() => begun.push(size));
  }
  const seen = [begun.splice(0)];
  for (let turn = 0; turn < 3; turn += 1) {
    await nextTurn();
    seen.push(begun.splice(0));
  }
  expect(seen).toEqual([[4, 4], [4], [20], [6, 4]]);
});

it("does less in a turn as soon as there are others", async () => {
  let isBeside = false;
  const turns = new TickTurns(() => (isBeside ? 1 : 3));
  let begun = 0;
  for (let at = 0; at < 9; at += 1) {
    const turn = turns.take("t");
    if (turn === null) begun += 1;
    else void turn.then(() => (begun += 1));
  }
  const seen = [begun];
  for (isBeside of [false, true, true]) {
    await nextTurn();
    seen.push(begun);
  }
  expect(seen).toEqual([3, 6, 7, 8]);
});
