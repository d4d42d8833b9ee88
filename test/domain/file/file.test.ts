import { expect, test } from "vitest";
import { fits, MAX_FILES } from "../../../domain/file/file.ts";

test("the files of a tenant have a bound together, in bytes and in number", () => {
  expect(fits({ count: 1, bytes: 60 }, 40, 100).ok).toBe(true);
  expect(fits({ count: 1, bytes: 60 }, 41, 100)).toMatchObject({
    ok: false,
    error: { code: "files_full", heldBytes: 60, limitBytes: 100 },
  });
  expect(fits({ count: MAX_FILES - 1, bytes: 0 }, 1, 100).ok).toBe(true);
  expect(fits({ count: MAX_FILES, bytes: 0 }, 1, 100).ok).toBe(false);
});
