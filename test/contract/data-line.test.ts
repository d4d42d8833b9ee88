// What a frame of a data line says.

import { Buffer } from "node:buffer";
import { expect, it } from "vitest";
import { MAX_PART_BYTES, PART_SEPARATOR, PIECE_CHARS, readParts, writePart } from "../../contract/data-line.ts";
import { piecesOf } from "../../contract/text/event-text.ts";

const said = (jobId: string, events: string): string => writePart({ kind: "events", jobId, lease: 1, events });
const ended = (jobId: string): string => writePart({ kind: "end", jobId, lease: 1, error: null });
const read = (...parts: string[]) => readParts(parts.join(PART_SEPARATOR).split(PART_SEPARATOR));

it("what a stream says in many small parts of a frame is one part, in its order", () => {
  const many = Array.from({ length: 1_000 }, (_, index) => said(index % 2 === 0 ? "a" : "b", `${index},`));
  const numbers = (rest: number): string => Array.from({ length: 500 }, (_, index) => `${2 * index + rest},`).join("");
  expect(read(...many)).toEqual([
    { kind: "events", jobId: "a", lease: 1, events: numbers(0) },
    { kind: "events", jobId: "b", lease: 1, events: numbers(1) },
  ]);
});

it("an end stays behind what was said before it, and before what is said later", () => {
  const found = read(said("a", "one"), "junk", said("b", "x"), said("a", "two"), ended("a"), said("a", "late"));
  expect(found.map((part) => [part.jobId, part.kind === "events" ? part.events : null])).toEqual([
    ["a", "onetwo"],
    ["b", "x"],
    ["a", null],
    ["a", "late"],
  ]);
});

it("a separator that a runtime says, in a comment, ends no part", () => {
  const comment = `: a${PART_SEPARATOR}other 1 end\n\n`;
  expect(read(said("a", comment), said("a", "data: {}\n\n"))).toEqual([
    { kind: "events", jobId: "a", lease: 1, events: ": a other 1 end\n\ndata: {}\n\n" },
  ]);
});

it("no part becomes longer than one may be", () => {
  const half = "x".repeat(MAX_PART_BYTES / 2);
  expect(
    read(said("a", half), said("a", half), said("a", "y")).map((part) => "events" in part && part.events.length),
  ).toEqual([MAX_PART_BYTES, 1]);
});

it.each([
  ["letters", "x"],
  ["characters of three bytes", "€"],
  ["characters of two units", "😀"],
  ["the same, out of step", "😀", "x"],
])(
  "a long event of %s goes in pieces that fit, cut between characters, with its end in the last",
  (_, char, first = "") => {
    for (const length of [PIECE_CHARS, PIECE_CHARS + 3, 800_000]) {
      const event = `data: ${first}${char.repeat(length / char.length)}\r\n\r\n`;
      const pieces = [...piecesOf(event, PIECE_CHARS)];
      expect(pieces.join("")).toBe(event);
      expect(pieces.at(-1)?.endsWith("\r\n\r\n")).toBe(true);
      for (const piece of pieces) {
        expect(Buffer.byteLength(piece)).toBeLessThan(MAX_PART_BYTES - 200);
        expect(Buffer.from(piece).toString()).toBe(piece);
      }
    }
  },
);
