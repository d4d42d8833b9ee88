// The log of the server in Node, as it reaches its two outputs.

import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { gatheredLog } from "../../self-host/gathered-log.ts";

const world = () => {
  const written: [string, string][] = [];
  const log = gatheredLog({
    log: (text) => written.push(["log", text]),
    warn: (text) => written.push(["warn", text]),
    error: (text) => written.push(["error", text]),
  });
  return { log, written };
};

it("the lines of one turn are written together, in their order", async () => {
  const { log, written } = world();
  for (const line of ["one", "two"]) log.error(line);
  log.log("three");
  for (const line of ["four", "five"]) log.error(line);
  expect(written).toEqual([]);
  await nextTurn();
  expect(written).toEqual([
    ["error", "one\ntwo"],
    ["log", "three"],
    ["error", "four\nfive"],
  ]);
  log.warn("six");
  await nextTurn();
  expect(written.slice(3)).toEqual([["warn", "six"]]);
});

it("what the process says last is written before it ends, and once", async () => {
  const { log, written } = world();
  log.error("the last");
  log.flush();
  expect(written).toEqual([["error", "the last"]]);
  await nextTurn();
  expect(written).toHaveLength(1);
});
