// What a worker reports of its runtime's models, if there are more than a presence report can contain.

import { expect, test } from "vitest";
import { MAX_RUNTIME_MODELS } from "../../../contract/words/values.ts";
import type { RuntimeState } from "../../../worker/calls/runtime.ts";
import { presenceMessage } from "../../../worker/presence.ts";

const identity = { instance: "w", provider: "p", tags: "", models: [], tier: null, concurrency: 1, version: "1" };
const load = { jobs: [], freeSlots: 1, isDraining: false };

const toldOf = (models: string[]): string[] => {
  const state: RuntimeState = { unavailable: null, apis: [], models };
  return (presenceMessage("1", identity, load, state) as { runtime_models?: string[] }).runtime_models ?? [];
};

test("all of them are told where they fit, else as many as do", () => {
  const few = ["one", "two"];
  expect(toldOf(few)).toEqual(few);
  const many = Array.from({ length: 2000 }, (_, index) => `model-${index}`);
  expect(toldOf(many)).toEqual(many.slice(0, MAX_RUNTIME_MODELS));
});
