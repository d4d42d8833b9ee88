import { describe, expect, it } from "vitest";
import { modelSetOf, modelsTaken } from "../../../domain/fleet/model-set.ts";
import { choicesOf, type ModelOffer, namesToAllow, plainChoice } from "../../../domain/front-door/door-model.ts";
import type { ModelChoice } from "../../../domain/job/job-facts.ts";
import { modelKeyOf } from "../../../domain/words/model-key.ts";

const offer = (
  provider: string,
  models: readonly string[] | null,
  { isOffline = false, missing = [] }: { isOffline?: boolean; missing?: readonly string[] } = {},
): ModelOffer => ({
  provider,
  listed: models === null ? null : modelSetOf(models),
  names: () => (models ?? []).filter((name) => !missing.includes(modelKeyOf(name))),
  missing,
  takesAny: models === null && !isOffline,
});
const meant = (asked: string, offers: readonly ModelOffer[]) => {
  const [found = null] = choicesOf(asked, {}, offers, "");
  return found === null ? null : [found.provider, found.model];
};

describe("the name of a model", () => {
  const offers = [offer("local", ["m1", "org/qwen", "llama3.2:latest"]), offer("other", ["m1"])];

  it("is that of a listed model, but for its tag and an owner that one side leaves out", () => {
    expect(meant("m1", offers)).toEqual([null, "m1"]);
    expect(meant("llama3.2", offers)).toEqual([null, "llama3.2:latest"]);
    expect(meant("qwen", offers)).toEqual([null, "org/qwen"]);
    expect(meant("somebody/m1", offers)).toEqual([null, "m1"]);
    expect(meant("else/qwen", offers)).toBeNull();
    expect(meant("kwen", offers)).toBeNull();
  });

  it("names its provider, where one is registered by the first part, though others have the model as well", () => {
    expect(meant("other/m1", offers)).toEqual(["other", "m1"]);
    expect(meant("local/qwen", offers)).toEqual(["local", "org/qwen"]);
    expect(meant("any/m9", [...offers, offer("any", null)])).toEqual(["any", "m9"]);
    expect(meant("org/qwen", [...offers, offer("org", null)])).toEqual([null, "org/qwen"]);
  });

  it("is that of a file that a runtime lists, without its folder and ending, and the runtime gets the listed name", () => {
    const listing = (...listed: string[]): ModelOffer => {
      const set = modelSetOf(listed);
      const takesAny = modelsTaken({ models: null, runtimeModels: set }) === null;
      return { ...offer("cpp", listed), listed: set, takesAny };
    };
    expect(meant("qwen", [listing("/models/qwen.gguf")])).toEqual([null, "/models/qwen.gguf"]);
    expect(meant("other", [listing("/models/qwen.gguf")])).toBeNull();
    expect(meant("other", [listing()])).toEqual([null, "other"]);
    expect(meant("other", [listing(...Array.from({ length: 500 }, (_, at) => `m${at}`))])).toEqual([null, "other"]);
    expect(meant("cpp/other", [listing("/models/qwen.gguf")])).toBeNull();
  });

  it("is not one that the only runtimes to list it answered not to have", () => {
    const lacking = offer("local", ["m1:latest"], { missing: ["m1"] });
    expect(meant("m1", [lacking])).toBeNull();
    expect(meant("m1", [lacking, offer("other", ["m1"])])).toEqual([null, "m1"]);
    expect(meant("m1", [offer("any", null, { missing: ["m1"] })])).toBeNull();
  });

  it("is an alias first, and any name where a worker that is not offline takes any", () => {
    const alias: ModelChoice = { model: "llama3.2", provider: null, tags: ["gpu"], tier: null };
    expect(choicesOf("m1", { m1: [{ ...alias, weight: null }] }, offers, "")).toEqual([
      { ...alias, model: "llama3.2:latest" },
    ]);
    expect(meant("m9", offers)).toBeNull();
    expect(meant("m9", [offer("any", null, { isOffline: true })])).toBeNull();
    expect(meant("m9", [offer("any", null)])).toEqual([null, "m9"]);
  });
});

describe("what a key's patterns are compared with", () => {
  const aliases = { "team/fast": [] };
  const compared = (asked: string, got: string, { provider = null, patterns = ["*"] }: More = {}) =>
    namesToAllow(asked, plainChoice(got, provider), aliases, patterns);
  interface More {
    provider?: string | null;
    patterns?: readonly string[] | null;
  }

  it("is the name that was asked for and that of the model", () => {
    expect(compared("m1", "m1:latest")).toEqual(["m1", "m1:latest"]);
    expect(compared("qwen", "org/qwen")).toEqual(["qwen", "org/qwen"]);
    expect(compared("local/m1", "m1", { provider: "local" })).toEqual(["local/m1", "m1"]);
    expect(compared("team/fast", "m1")).toEqual(["team/fast", "m1"]);
    expect(namesToAllow("m9", undefined, aliases, ["*"])).toEqual(["m9"]);
  });

  it("is not an owner that the client alone names, unless a pattern is just that name", () => {
    expect(compared("m1/m2", "m2", { patterns: ["m1*"] })).toEqual(["m2"]);
    expect(compared("m1/../m2", "m2", { patterns: ["m1*"] })).toEqual(["m2"]);
    expect(compared("org/m2", "m2", { patterns: null })).toEqual(["m2"]);
    expect(compared("org/m2", "m2", { patterns: ["org/m2"] })).toEqual(["org/m2", "m2"]);
  });
});
