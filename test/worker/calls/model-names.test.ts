import { describe, expect, test } from "vitest";
import { isAnswerOf, isListedAs } from "../../../worker/calls/model-names.ts";

describe("a listed model and the name that a job uses for it", () => {
  test.each([
    ["llama3.2:latest", "llama3.2", true],
    ["/models/qwen3-4b.gguf", "qwen3-4b", true],
    ["qwen/qwen3-4b", "qwen3-4b", true],
    ["mistralai/x", "someone/x", false],
    ["llama3.2:1b", "llama3.2", false],
    ["llama3", "llama3.2", false],
  ])("%s serves %s: %s", (listed, asked, isServed) => {
    expect(isListedAs(listed, asked)).toBe(isServed);
  });
});

describe("the requested model and the model that answered", () => {
  test.each([
    ["gpt-5", "gpt-5-2026-01-01", true],
    ["claude-sonnet-4-5", "claude-sonnet-4-5-20250929", true],
    ["grok-4", "grok-4-0709", true],
    ["models/gemini-2.5-flash", "gemini-2.5-flash-001", true],
    ["mistral-small-latest", "mistral-small-2506", true],
    ["gpt-5", "gpt-5.1", false],
    ["gpt-5", "gpt-5-mini", false],
    ["llama-3", "llama-3-8b", false],
    ["qwen3:8b", "qwen3:14b", false],
    ["qwen3-4b", "llama-3.2-1b", false],
  ])("%s answered by %s is the same: %s", (asked, answered, isSame) => {
    expect(isAnswerOf(asked, answered)).toBe(isSame);
  });
});
