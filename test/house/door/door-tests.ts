// The first leaves a small room behind where it fails.

import { expect, test } from "vitest";
import { admitted } from "./door.ts";
import { ROOM } from "./room.ts";

const USUAL = ROOM.size;

test("one of two finds room in a room for one", () => {
  ROOM.size = 1;
  expect(admitted(2)).toBe(1);
  ROOM.size = USUAL;
});

/** A test of another name stands for tests that somebody edits. */
test(process.env.DOOR_TEST ?? "a crowd fills the usual room", () => {
  ROOM.size = USUAL;
  expect(admitted(USUAL)).toBe(USUAL);
});
