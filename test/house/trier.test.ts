// The tool behind `npm run mutants`, with a tree of three small files.

import { expect, test } from "vitest";
import { survivorsOf } from "../mutants/survivors.ts";
import { Trier } from "../mutants/trier.ts";

const FILE = "test/house/door/door.ts";
const TESTS = ["test/house/door/door-tests.ts"];

/** Another body of the door's only function. */
const change = (what: string, body: string) => {
  const head = 'import { ROOM } from "./room.ts";\n\nexport const admitted = (crowd: number): number => ';
  return { file: FILE, at: head.length, what, text: `${head}${body};\n` };
};

const survivors = async (...changes: ReturnType<typeof change>[]): Promise<string[]> =>
  (await survivorsOf(changes, TESTS, () => {})).map(({ what }) => what);

test("a change survives that no test notices", async () => {
  const same = change("the same in other words", "(crowd < ROOM.size ? crowd : ROOM.size)");
  const none = change("nobody finds room", "crowd * ROOM.size * 0");
  expect(await survivors(same, none)).toEqual([same.what]);
});

test("what a test leaves behind that a change broke off hides no other change", async () => {
  const brokenOff = change("nobody finds room in a room for one", "(ROOM.size === 1 ? 0 : Math.min(crowd, ROOM.size))");
  const hidden = change("half of the usual room is full", "Math.min(crowd, ROOM.size, 4)");
  expect(await survivors(brokenOff, hidden)).toEqual([]);
});

test("a run ends when the tests change under it, because it would run others than it measured", async () => {
  const trier = new Trier(TESTS);
  const none = change("nobody finds room", "crowd * ROOM.size * 0");
  try {
    await trier.measure([none]);
    await trier.stop();
    process.env.DOOR_TEST = "a crowd fills another room";
    await expect(trier.noticedBy(0, none)).rejects.toThrow("run this where nobody edits them");
  } finally {
    delete process.env.DOOR_TEST;
    await trier.stop();
  }
});
