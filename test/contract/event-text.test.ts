// One set of rules for server-sent events: the client's parser, the worker's splitter and the relay's text agree.

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eventsOf } from "../../contract/text/event-stream.ts";
import { dataOf, eventsIn } from "../../contract/text/event-text.ts";
import { WholeEvents } from "../../contract/text/whole-events.ts";
import { EventSplitter } from "../../worker/apis/sse.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The same bytes, cut at these places. */
const cutAt = (text: string, places: readonly number[]): Uint8Array[] => {
  const bytes = bytesOf(text);
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, at) => bytes.slice(ends[at - 1] ?? 0, end));
};

const parsed = async (chunks: readonly Uint8Array[], longest?: number): Promise<string[]> => {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const data: string[] = [];
  for await (const event of eventsOf(body, longest)) data.push(event.data);
  return data;
};

const split = (chunks: readonly Uint8Array[]): { data: string[]; raw: string } => {
  const splitter = new EventSplitter(1_000_000);
  const events = [...chunks.flatMap((chunk) => splitter.take(chunk)), ...splitter.finish()];
  return {
    data: events.map(({ data }) => data).filter((data) => data !== ""),
    raw: events.map(({ raw }) => raw).join(""),
  };
};

const relayed = (text: string): string[] =>
  eventsIn(new TextDecoder().decode(new WholeEvents().take(bytesOf(text))))
    .map(dataOf)
    .filter((data) => data !== "");

const MIXED = [
  ["data: a\n\r\ndata: b\n\r\n", ["a", "b"]],
  ["data: a\r\n\r\ndata: b\n\n", ["a", "b"]],
  ["data: a\r\n\ndata: b\r\n\n", ["a", "b"]],
  ["event: x\ndata: a\ndata: b\n\n: comment\n\ndata:c\n\n", ["a\nb", "c"]],
  ["data: ä€😀\r\n\r\ndata:  two spaces\n\n", ["ä€😀", " two spaces"]],
  ["id: 1\r\ndata: a\r\n\r\n", ["a"]],
  ["data: a\r\rdata: b\r\r", ["a", "b"]],
] as const;

describe.each(MIXED)("%j", (text, expected) => {
  test("is the same to all three readers, wherever it is cut", async () => {
    expect(relayed(text)).toEqual(expected);
    for (let at = 0; at <= bytesOf(text).length; at += 1) {
      expect(await parsed(cutAt(text, [at])), `cut at ${at}`).toEqual(expected);
      expect(split(cutAt(text, [at])).data, `cut at ${at}`).toEqual(expected);
    }
  });
});

const lineEnd = fc.constantFrom("\n", "\r\n");
const line = fc.tuple(
  fc.constantFrom("data: ", "data:", ": ", "event: ", "id: "),
  fc.stringMatching(/^[a-zä€ ]{0,6}$/),
  lineEnd,
);
const anyEvent = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 4 }), lineEnd)
  .map(([lines, end]) => `${lines.map((parts) => parts.join("")).join("")}${end}`);

test("any events, cut anywhere, are the same to all three, and pass through the worker byte for byte", async () => {
  const cuts = fc.array(fc.nat(200), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(fc.array(anyEvent, { maxLength: 6 }), cuts, async (events, places) => {
      const text = events.join("");
      const chunks = cutAt(text, places);
      const { data, raw } = split(chunks);
      const known = (await parsed(chunks)).filter((one) => one !== "");
      expect(data).toEqual(known);
      expect(relayed(text)).toEqual(known);
      expect(raw).toBe(text);
    }),
  );
});

test("a line that ends with half a line end ends with what follows, also behind an empty piece or a part of a character", async () => {
  const [start, end] = [bytesOf("data: a\r\r"), bytesOf("ä")];
  for (const between of [[], [new Uint8Array()], [end.slice(0, 1)]])
    expect(await parsed([start, ...between, between[0]?.length === 1 ? end.slice(1) : end])).toEqual(["a"]);
});

test("an event that is longer than its reader allows is not held, in one line or in many", async () => {
  const pieces = (piece: string, count: number) => ["data: a\n\n", ...Array(count).fill(piece), "\n\n"].map(bytesOf);
  const isReadTo = async (piece: string): Promise<boolean[]> => {
    const chunks = pieces(piece, 10);
    const rest = chunks.splice(8);
    let taken = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          const next = [...chunks, ...rest][taken];
          taken += 1;
          if (next === undefined) controller.close();
          else controller.enqueue(next);
        },
      },
      { highWaterMark: 0 },
    );
    const data: string[] = [];
    for await (const event of eventsOf(body, 50)) data.push(event.data);
    return [data.join() === "a", taken < 8];
  };
  expect(await isReadTo("data: 0123456789")).toEqual([true, true]);
  expect(await isReadTo("data: 0123456789\n")).toEqual([true, true]);
  expect(await parsed(pieces("data: 1\n\n", 10), 50)).toHaveLength(11);
});
