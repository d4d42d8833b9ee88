import fc from "fast-check";
import { expect, test } from "vitest";
import { TopMembers } from "../../../worker/apis/top-members.ts";

const WANTED = ["usage", "model", "error"];

/** In pieces of a few bytes, as they may arrive. */
const read = (text: string, size = 3) => {
  const members = new TopMembers(WANTED);
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) members.push(bytes.subarray(at, at + size));
  return members.finish();
};

test("the members are those that a parser finds, in whatever an object holds and however it is cut", () => {
  const value = fc.jsonValue();
  const object = fc.dictionary(fc.oneof(fc.constantFrom(...WANTED, 'a"b', "ü"), fc.string()), value);
  fc.assert(
    fc.property(object, fc.integer({ min: 1, max: 9 }), fc.boolean(), (given, size, isSpaced) => {
      const text = JSON.stringify(given, null, isSpaced ? 2 : undefined);
      const parsed = JSON.parse(text);
      const expected = Object.fromEntries(WANTED.filter((name) => name in parsed).map((name) => [name, parsed[name]]));
      expect(read(text, size)).toEqual(expected);
    }),
  );
});

test("what is no whole object has none", () => {
  for (const text of ["", "[1]", '"usage"', '{"usage":1', '{"usage":{"a":1}', "<html>", "{}{}"])
    expect(read(text)).toBe(null);
});

test("a member that is far too long is not kept", () => {
  expect(read(JSON.stringify({ usage: "x".repeat(70_000), model: "m" }), 1_000)).toEqual({ model: "m" });
});
