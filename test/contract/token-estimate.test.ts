// About how many tokens a request has, which its key is charged for where nobody reports the true number.

import { expect, it } from "vitest";
import { inputTokensOf } from "../../contract/words/token-estimate.ts";

const said = (content: unknown) => ({ model: "m", messages: [{ role: "user", content }] });
const BESIDE = inputTokensOf(said(""));
const tokensIn = (content: unknown): number => inputTokensOf(said(content)) - BESIDE;

it.each([
  ["words", "word ".repeat(8_000)],
  ["words behind a long one", "x".repeat(4_000) + " word".repeat(7_200)],
  ["words that begin like an address of data", `data:${" word".repeat(7_999)}`],
  ["a language without spaces", "語".repeat(40_000)],
])("of a text counts a token for four characters: %s", (_what, text) => {
  expect(tokensIn(text)).toBe(10_000);
  expect(tokensIn([{ type: "text", text }])).toBeGreaterThanOrEqual(10_000);
  // A document that is text.
  expect(tokensIn([{ source: { type: "text", data: text } }])).toBeGreaterThanOrEqual(10_000);
  // What a tool gave.
  expect(tokensIn([{ type: "tool-result", result: text }])).toBeGreaterThanOrEqual(10_000);
});

it.each([
  ["OpenAI's chat", { image_url: { url: `data:image/png;base64,${"A".repeat(100_000)}` } }],
  ["Responses", { image_url: `data:image/png;base64,${"A".repeat(100_000)}` }],
  ["Anthropic", { source: { data: "A".repeat(100_000) } }],
  ["Ollama", { images: ["A".repeat(100_000)] }],
  ["a picture that a tool of Responses made", { type: "image_generation_call", result: "A".repeat(100_000) }],
  ["MCP", { type: "image", data: "A".repeat(100_000) }],
  ["Mistral's document", { document_url: `data:application/pdf;base64,${"A".repeat(100_000)}` }],
  ["a picture to embed", { image: "A".repeat(100_000) }],
  ["a sound", { input_audio: { data: "A".repeat(100_000) } }],
  ["a picture that the provider fetches", { image_url: { url: "https://example.com/a.png" } }],
])("counts a medium for a thousand, however long it is: %s", (_who, part) => {
  const beside = "type" in part ? inputTokensOf(part.type) : 0;
  expect(tokensIn([part])).toBe(1_000 + beside);
});

it.each([
  ["a page that an answer names", { type: "url_citation", url: "https://example.com/a/page" }],
  ["a page that a tool is to fetch", { type: "tool_use", input: { url: "https://example.com/a/page" } }],
])("counts the address of %s as text", (_what, part) => {
  expect(tokensIn([part])).toBeLessThan(20);
});

it("does not look through a long name once for each entry of its list", () => {
  const [parts, name] = [50_000, "a_".repeat(200_000)];
  expect(inputTokensOf({ [name]: Array.from({ length: parts }, () => "x") })).toBe(parts);
});

it("counts each number of a prompt that is tokens already", () => {
  const tokens = Array.from({ length: 5_000 }, (_, at) => at);
  expect(inputTokensOf({ prompt: tokens })).toBe(5_000);
  expect(inputTokensOf({ input: [tokens, tokens] })).toBe(10_000);
});
