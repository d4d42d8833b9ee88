// A list of models as numbers: it has what the names say, and never more.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  modelSetIdOf,
  modelSetOf,
  withAnyModel,
  withModel,
  withSimilarModel,
} from "../../../domain/fleet/model-set.ts";
import { isSameModel } from "../../../domain/front-door/door-model.ts";
import { modelKeyOf } from "../../../domain/words/model-key.ts";

const name = fc
  .tuple(fc.constantFrom("", "org/", "else/", "org/sub/"), fc.constantFrom("m1", "m2", "ü", "m1:8b"), fc.boolean())
  .map(([owner, model, isTagged]) => `${owner}${model}${isTagged ? ":latest" : ""}`);
const names = fc.array(name, { maxLength: 8 });

describe("a list of models as numbers", () => {
  it("has the models whose names the list has, with or without :latest (property)", () => {
    fc.assert(
      fc.property(names, name, (listed, asked) => {
        const set = modelSetOf(listed);
        expect(withModel(asked)(set)).toBe(listed.some((one) => modelKeyOf(one) === modelKeyOf(asked)));
        if (listed.some((one) => isSameModel(one, asked))) expect(withSimilarModel(asked)(set)).toBe(true);
        expect(withAnyModel([asked, "m9"])(set) || !listed.includes(asked)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it("has no owner's model under the bare name, and equal lists have one id", () => {
    const set = modelSetOf(["org/m1"]);
    expect([withModel("m1")(set), withSimilarModel("m1")(set), withSimilarModel("m2")(set)]).toEqual([
      false,
      true,
      false,
    ]);
    expect(set.id).toBe(modelSetIdOf(["org/m1"]));
    expect(modelSetIdOf(["a", "b"])).not.toBe(modelSetIdOf(["ab"]));
    expect(modelSetIdOf([])).not.toBe(modelSetIdOf([""]));
  });

  it("counts the bytes of its names, and a short name as what its numbers take", () => {
    expect(modelSetOf(["m".repeat(100)]).bytes).toBe(100);
    expect(modelSetOf(["ü€😀".repeat(10)]).bytes).toBe(90);
    expect(modelSetOf(["m1"]).bytes).toBe(16);
    expect(modelSetOf(["org/m1"]).bytes).toBe(32);
  });
});
