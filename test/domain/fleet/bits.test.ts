import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Bits } from "../../../domain/fleet/bits.ts";

const index = fc.oneof(fc.constantFrom(0, 1, 30, 31, 32, 63, 64, 127, 128, 129), fc.nat({ max: 700 }));
const members = fc.uniqueArray(index, { maxLength: 60, size: "max" });

const bitsOf = (given: Iterable<number>): Bits => {
  const bits = new Bits();
  for (const one of given) bits.set(one);
  return bits;
};

const listOf = (bits: Bits): number[] => {
  const found: number[] = [];
  bits.members().forEach((one) => {
    found.push(one);
  });
  return found;
};

const ascending = (given: Iterable<number>): number[] => [...given].sort((one, other) => one - other);

const expectHolds = (bits: Bits, expected: Iterable<number>): void => {
  const sorted = ascending(expected);
  expect(listOf(bits)).toEqual(sorted);
  expect(bits.count()).toBe(sorted.length);
};

describe("a set of bits", () => {
  test("holds what a plain set holds, whatever is put in and taken out (property)", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(index, fc.boolean()), { maxLength: 100, size: "max" }), (steps) => {
        const bits = new Bits();
        const naive = new Set<number>();
        for (const [at, isSet] of steps) {
          bits.set(at, isSet);
          if (isSet) naive.add(at);
          else naive.delete(at);
          expect(bits.has(at)).toBe(isSet);
        }
        expectHolds(bits, naive);
        for (const [at] of steps) expect(bits.has(at + 1)).toBe(naive.has(at + 1));
      }),
    );
  });

  test("counts its members after every step, also where sets were joined before (property)", () => {
    fc.assert(
      fc.property(
        members,
        members,
        fc.array(fc.tuple(index, fc.boolean()), { maxLength: 20 }),
        (mine, theirs, then) => {
          for (const joined of [
            bitsOf(mine).intersect(bitsOf(theirs)),
            bitsOf(mine).union(bitsOf(theirs)),
            bitsOf(mine).subtract(bitsOf(theirs)),
            bitsOf(mine).keepIf((at) => at % 2 === 0, bitsOf(theirs)),
          ]) {
            for (const [at, isSet] of then) {
              joined.copy().set(at, isSet);
              joined.set(at, isSet);
              expect(joined.count()).toBe(listOf(joined).length);
              expect(
                joined
                  .copy()
                  .subtract(bitsOf([at]))
                  .count(),
              ).toBe(joined.count() - (isSet ? 1 : 0));
            }
          }
        },
      ),
    );
  });

  test("finds its next member from any place on (property)", () => {
    fc.assert(
      fc.property(members, index, (given, from) => {
        const next = ascending(given).find((one) => one >= from);
        expect(bitsOf(given).first(from)).toBe(next ?? -1);
      }),
    );
  });

  test("intersects, unites and subtracts as plain sets do, and leaves the other alone (property)", () => {
    fc.assert(
      fc.property(members, members, (mine, theirs) => {
        const other = new Set(theirs);
        const given = bitsOf(theirs);
        expectHolds(
          bitsOf(mine).intersect(given),
          mine.filter((at) => other.has(at)),
        );
        expectHolds(bitsOf(mine).union(given), new Set([...mine, ...theirs]));
        expectHolds(
          bitsOf(mine).subtract(given),
          mine.filter((at) => !other.has(at)),
        );
        expectHolds(given, other);
      }),
    );
  });

  test("keeps what passes a test, and looks only at members of the set that may fail it (property)", () => {
    fc.assert(
      fc.property(members, fc.option(members), (mine, may) => {
        const looked: number[] = [];
        const kept = bitsOf(mine).keepIf(
          (at) => {
            looked.push(at);
            return at % 3 === 0;
          },
          may === null ? null : bitsOf(may),
        );
        const inQuestion = mine.filter((at) => may === null || may.includes(at));
        expect(looked).toEqual(ascending(inQuestion));
        expectHolds(
          kept,
          mine.filter((at) => at % 3 === 0 || !inQuestion.includes(at)),
        );
      }),
    );
  });

  test("meets a set with which it has a member in common (property)", () => {
    fc.assert(
      fc.property(members, members, (mine, theirs) => {
        const isShared = mine.some((at) => theirs.includes(at));
        expect(bitsOf(mine).meets(bitsOf(theirs))).toBe(isShared);
        expect(bitsOf(mine).meets(undefined)).toBe(false);
      }),
    );
  });

  test("takes a missing set for an empty one (property)", () => {
    fc.assert(
      fc.property(members, (mine) => {
        expectHolds(bitsOf(mine).intersect(undefined), []);
        expectHolds(bitsOf(mine).union(undefined), mine);
        expectHolds(bitsOf(mine).subtract(undefined), mine);
      }),
    );
  });

  test("and its copy go separate ways (property)", () => {
    fc.assert(
      fc.property(members, index, (mine, extra) => {
        const original = bitsOf(mine);
        const copy = original.copy();
        copy.set(extra, !original.has(extra));
        expectHolds(original, mine);
        expect(copy.has(extra)).toBe(!original.has(extra));
      }),
    );
  });

  test("counts and visits all of a full word, the sign bit too", () => {
    const full = Array.from({ length: 64 }, (_, at) => at);
    expectHolds(bitsOf(full), full);
    expectHolds(bitsOf([31, 63]), [31, 63]);
  });

  test("does not grow for what is taken out of it", () => {
    const bits = new Bits();
    bits.set(100_000, false);
    expect(bits.words.length).toBe(new Bits().words.length);
    expect(bits.has(100_000)).toBe(false);
  });
});
