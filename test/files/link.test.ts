// A link to a file: who may follow it, and until when.

import { expect, it } from "vitest";
import { linkPath, readLink } from "../../durable-objects/files/link.ts";

const UNTIL_AT = 1_800_000_000_123;
const LINK = { tenant: "acme", jurisdiction: "eu" as const, fileId: "file-1", untilAt: UNTIL_AT };

/** What stands between `/files/` and the file's name. */
const signed = (secret: string, link = LINK): string => linkPath(secret, link, "a.txt").split("/")[2] ?? "";

it("a link is good until its time, to the millisecond", () => {
  expect(readLink("secret", signed("secret"), UNTIL_AT - 1)).toEqual(LINK);
  expect(readLink("secret", signed("secret"), UNTIL_AT)).toBe(null);
});

it("a link of an earlier release, which wrote seconds, is good until its time", () => {
  const earlier = signed("secret", { ...LINK, untilAt: 1_800_000_000 });
  expect(readLink("secret", earlier, 1_800_000_000_000 - 1)?.fileId).toBe("file-1");
  expect(readLink("secret", earlier, 1_800_000_000_000)).toBe(null);
});

it("a link that another deployment signed, or that was altered, is none", () => {
  expect(readLink("secret", signed("another"), 0)).toBe(null);
  expect(readLink("secret", signed("secret").replace("file-1", "file-2"), 0)).toBe(null);
  expect(readLink("secret", `${signed("secret")}.x`, 0)).toBe(null);
});
