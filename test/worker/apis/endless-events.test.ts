// Events of a provider that names rows without end: each costs about as much to read as the one before it.

import { expect, test } from "vitest";
import { mergeDelta } from "../../../worker/apis/merge-delta.ts";
import { messages } from "../../../worker/apis/messages.ts";

const msOf = (work: () => void): number => {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
};

test("a delta with very many rows takes no longer for each row that is there", () => {
  let looks = 0;
  const counted = (index: number) => ({
    get index() {
      looks += 1;
      return index;
    },
  });
  const message = { tool_calls: Array.from({ length: 10_000 }, (_, index) => counted(index)) };
  mergeDelta(message, { tool_calls: Array.from({ length: 1_000 }, () => ({ index: -1 })) });
  expect(looks).toBe(1_000 * 256);
});

test("the rows that grow are found among others", () => {
  const message: { tool_calls?: { index: number; function: { arguments: string } }[] } = {};
  const delta = (index: number, text: string) => ({ tool_calls: [{ index, function: { arguments: text } }] });
  for (let index = 0; index < 128; index += 1) mergeDelta(message, delta(index, `${index}`));
  for (let index = 0; index < 128; index += 1) mergeDelta(message, delta(index, "!"));
  expect(message.tool_calls?.map((call) => call.function.arguments)).toEqual(
    Array.from({ length: 128 }, (_, index) => `${index}!`),
  );
});

test("a citation takes no longer for each that is there", () => {
  const assembly = messages.assemble?.();
  if (assembly === undefined) throw new Error("messages have streams");
  const take = (event: object) => assembly.take(JSON.stringify(event));
  take({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  const cite = () => {
    for (let count = 0; count < 60_000; count += 1)
      take({ type: "content_block_delta", index: 0, delta: { type: "citations_delta", citation: count } });
  };
  expect(msOf(cite)).toBeLessThan(2_000);
  const { content } = assembly.result() as { content: { citations: number[] }[] };
  expect(content[0]?.citations.length).toBe(60_000);
});
