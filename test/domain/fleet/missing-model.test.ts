import { describe, expect, test } from "vitest";
import { isModelMissing, NO_MODEL_LOADED, saysNoSuchModel } from "../../../domain/fleet/missing-model.ts";

describe("a runtime that says that it does not have the model", () => {
  test.each([
    [404, "The model `Qwen/Qwen3-8B` does not exist."],
    [404, "The model `x` does not exist or you do not have access to it."],
    [404, 'model "llama3.2:1b" not found, try pulling it first'],
    [400, "model 'x' not found"],
    [undefined, "model 'x' not found"],
    [404, "models/x is not found for API version v1beta, or is not supported for generateContent."],
    [404, "model: claude-x"],
    [400, 'Invalid model identifier "x". Please specify a valid downloaded model'],
    [400, "No such model @cf/x or task"],
    [404, "The requested model isn't here: x"],
    [404, "Model not found, inaccessible, and/or not deployed"],
    [422, "Unknown model x"],
  ])("%s: %s", (status, text) => {
    expect(saysNoSuchModel(status, text)).toBe(true);
    expect(status === undefined || isModelMissing({ code: "x", status, message: text })).toBe(true);
  });
});

describe("a runtime that repeats a request that it refuses", () => {
  test.each([
    [
      400,
      "1 validation error: {'type': 'literal_error', 'loc': ('body', 'effort'), 'input': 'my model was not found'}",
    ],
    [
      400,
      "[{'type': 'missing', 'loc': ('body', 'messages'), 'input': {'model': 'm', 'prompt': 'why is it not found?'}}]",
    ],
    [400, "Invalid value: 'no such model'. Supported values are: 'low' and 'high'."],
    [400, "The model `m` does not take 'effort': 'high' was not found"],
    [400, "bad effort `No models loaded`"],
    [404, "Item with id 'rs_model' not found."],
    [404, "This is not a chat model and thus not supported in the v1/chat/completions endpoint."],
    [404, "This model is only supported in v1/responses and not in v1/chat/completions."],
    [503, "The model `m` does not exist."],
  ])("says nothing about its models: %s %s", (status, text) => {
    expect(saysNoSuchModel(status, text) || NO_MODEL_LOADED.test(text)).toBe(false);
    expect(isModelMissing({ code: "x", status, message: text })).toBe(false);
  });
});
