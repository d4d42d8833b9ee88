import { expect, test } from "vitest";
import { fits, MAX_FILES, roomOf } from "../../../domain/file/file.ts";

test("the files of a tenant have a bound together, in bytes and in number", () => {
  expect(fits(roomOf("tenant", { count: 1, bytes: 60 }, 100), 40).ok).toBe(true);
  expect(fits(roomOf("tenant", { count: 1, bytes: 60 }, 100), 41)).toMatchObject({
    ok: false,
    error: { code: "files_full", of: "tenant", heldBytes: 60, limitBytes: 100 },
  });
  expect(fits(roomOf("tenant", { count: MAX_FILES - 1, bytes: 0 }, 100), 1).ok).toBe(true);
  expect(fits(roomOf("tenant", { count: MAX_FILES, bytes: 0 }, 100), 1).ok).toBe(false);
});

test("the files of one client's key leave some of both to others", () => {
  expect(fits(roomOf("key", { count: 1, bytes: 60 }, 100), 30).ok).toBe(true);
  expect(fits(roomOf("key", { count: 1, bytes: 60 }, 100), 31)).toMatchObject({
    error: { of: "key", heldBytes: 60, limitBytes: 90 },
  });
  expect(fits(roomOf("key", { count: 89_999, bytes: 0 }, 100), 1).ok).toBe(true);
  expect(fits(roomOf("key", { count: 90_000, bytes: 0 }, 100), 1)).toMatchObject({ error: { maxCount: 90_000 } });
});
