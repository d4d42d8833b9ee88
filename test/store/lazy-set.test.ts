import { expect, test } from "vitest";
import { LazySet } from "../../durable-objects/turn/lazy-set.ts";

test("a lazy set is empty until something is added, then what a set is", () => {
  const set = new LazySet<string>();
  expect([[...set], set.size, set.has("a")]).toEqual([[], 0, false]);
  set.delete("a");
  for (const one of ["a", "b", "a"]) set.add(one);
  set.delete("b");
  expect([[...set], set.size, set.has("a"), set.has("b")]).toEqual([["a"], 1, true, false]);
});

test("what is added while one walks through it is reached, and an empty one shows nothing however often", () => {
  const [empty, set] = [new LazySet<string>(), new LazySet<string>()];
  set.add("a");
  const seen: string[] = [];
  for (const one of set) {
    seen.push(one);
    if (seen.length < 3) set.add(`${one}+`);
  }
  expect([seen, [...empty], [...empty]]).toEqual([["a", "a+", "a++"], [], []]);
});
