// What the README names is there: scripts, files, headings.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
const readme = readFileSync(path.join(ROOT, "README.md"), "utf8");
const found = (form: RegExp): string[] => [...new Set([...readme.matchAll(form)].map(([, name = ""]) => name))];

/** As GitHub names a heading's place. */
const placeOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} -]/gu, "")
    .replaceAll(" ", "-");

it("every script that it names is one of package.json", () => {
  const { scripts } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as { scripts: object };
  const named = found(/npm run ([a-z]+)/g);
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
});

it("every file and folder that it names exists", () => {
  const named = found(/`((?:domain|contract|durable-objects|src|worker|migrations|test|providers)\/[\w./-]*)/g);
  expect(named.length).toBeGreaterThan(12);
  expect(named.filter((name) => !existsSync(path.join(ROOT, name)))).toEqual([]);
});

it("every link inside it leads to a heading", () => {
  const places = found(/^#+ (.+)$/gm).map(placeOf);
  const linked = found(/\]\(#([^)]+)\)/g);
  expect(linked.length).toBeGreaterThan(15);
  expect(linked.filter((place) => !places.includes(place))).toEqual([]);
});
