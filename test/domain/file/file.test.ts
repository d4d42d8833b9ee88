import { expect, test } from "vitest";
import { fits, MAX_FILES, roomOf } from "../../../domain/file/file.ts";

const taking = (held: { count: number; bytes: number }, bytes: number, ofClient: number | null = null) =>
  fits(held, roomOf(held, ofClient, 100), bytes);

test("the files of a tenant have a bound together, in bytes and in number", () => {
  expect(taking({ count: 1, bytes: 60 }, 40).ok).toBe(true);
  expect(taking({ count: 1, bytes: 60 }, 41)).toMatchObject({
    ok: false,
    error: { code: "files_full", of: "tenant", heldBytes: 60, limitBytes: 100 },
  });
  expect(taking({ count: MAX_FILES - 1, bytes: 0 }, 1).ok).toBe(true);
  expect(taking({ count: MAX_FILES, bytes: 0 }, 1).ok).toBe(false);
});

test("the files of one client's key leave some of the tenant's room to others", () => {
  expect(taking({ count: 1, bytes: 60 }, 30, 60).ok).toBe(true);
  expect(taking({ count: 1, bytes: 60 }, 31, 60)).toMatchObject({
    error: { of: "key", heldBytes: 60, limitBytes: 90 },
  });
  expect(taking({ count: 2, bytes: 90 }, 11, 10)).toMatchObject({ error: { of: "tenant", heldBytes: 90 } });
});
