import { expect, it } from "vitest";
import { modelTaskRequest } from "../../../contract/fleet/model-task.ts";
import { doorErrorOf } from "../../../contract/front-door/door-status.ts";
import { presentInputItems } from "../../../contract/front-door/response.ts";
import { entryOf } from "../../../domain/words/entry-of.ts";

const WORDS = ["constructor", "toString", "__proto__", "hasOwnProperty"];

it.each(WORDS)("a table has no entry %s that nobody wrote", (word) => {
  expect(entryOf({ a: 1 }, word)).toBeUndefined();
  expect(entryOf({ a: 1 }, "a")).toBe(1);
  expect(doorErrorOf({ code: word, message: "m" })).toEqual({ code: word, message: "m", status: 500 });
  const query = { limit: 20, order: "asc" } as const;
  expect(presentInputItems([{ type: word }], "j", query)).toMatchObject({ data: [{ id: "item_j_0", type: word }] });
});

it.each(["30m", "1h30m", "-1s", "1.5h", "0", 300, -1])("a model may stay loaded for %s", (keepAlive) => {
  expect(modelTaskRequest.safeParse({ action: "load", model: "m", keep_alive: keepAlive }).success).toBe(true);
});

it.each(["constructor", "30", "m", "1h 30m", "", "."])("a model may not stay loaded for %j", (keepAlive) => {
  expect(modelTaskRequest.safeParse({ action: "load", model: "m", keep_alive: keepAlive }).success).toBe(false);
});
