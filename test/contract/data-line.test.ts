// What a frame of a data line says.

import { expect, it } from "vitest";
import { MAX_PART_BYTES, PART_SEPARATOR, readParts, writePart } from "../../contract/data-line.ts";

const said = (jobId: string, events: string): string => writePart({ kind: "events", jobId, lease: 1, events });
const ended = (jobId: string): string => writePart({ kind: "end", jobId, lease: 1, error: null });
const read = (...parts: string[]) => readParts(parts.join(PART_SEPARATOR));

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

it("no part becomes longer than one may be", () => {
  const half = "x".repeat(MAX_PART_BYTES / 2);
  expect(
    read(said("a", half), said("a", half), said("a", "y")).map((part) => "events" in part && part.events.length),
  ).toEqual([MAX_PART_BYTES, 1]);
});
