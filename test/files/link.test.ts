// A link to a file: who may follow it, and until when.

import { expect, it } from "vitest";
import { linkPath, readLink } from "../../durable-objects/files/link.ts";

const UNTIL_SECONDS = 1_800_000_000;
const LINK = { tenant: "acme", jurisdiction: "eu" as const, fileId: "file-1", untilSeconds: UNTIL_SECONDS };

/** What stands between `/files/` and the file's name. */
const signed = (secret: string): string => linkPath(secret, LINK, "a.txt").split("/")[2] ?? "";

it("a link is good until its time, to the millisecond", () => {
  expect(readLink("secret", signed("secret"), UNTIL_SECONDS * 1000 - 1)).toEqual(LINK);
  expect(readLink("secret", signed("secret"), UNTIL_SECONDS * 1000)).toBe(null);
});

it("a link that another deployment signed, or that was altered, is none", () => {
  expect(readLink("secret", signed("another"), 0)).toBe(null);
  expect(readLink("secret", signed("secret").replace("file-1", "file-2"), 0)).toBe(null);
  expect(readLink("secret", `${signed("secret")}.x`, 0)).toBe(null);
});
