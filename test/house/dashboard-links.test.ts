// What the dashboard names elsewhere is there: its own pages, pages of the API's documents, actions of the audit log.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { endpoints } from "../../src/app.ts";
import { openApiDocument } from "../../src/endpoint/openapi.ts";
import { docsPages } from "../../src/routes/docs/docs-page.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");

const textsIn = (folder: string): string[] =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => readFileSync(path.join(ROOT, folder, name), "utf8"));

const all = (texts: readonly string[], pattern: RegExp): string[] => [
  ...new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, found = ""]) => found))),
];

const dashboard = textsIn("dashboard");
const shown = readFileSync(path.join(ROOT, "dashboard/shell/page-at.tsx"), "utf8");

it("every fixed link leads to a page", () => {
  const pages = all([shown], /^ {2}(?:"([^"]*)"|\w+): (?:\(|[A-Z]\w*,$)/gm).concat(
    all([shown], /^ {2}(\w+): (?:\(|[A-Z]\w*,$)/gm),
  );
  const links = all(dashboard, /"#\/([^"?]*)[^"]*"/g);
  expect(links.length).toBeGreaterThan(15);
  expect(links.filter((link) => !pages.includes(link))).toEqual([]);
});

it("every link into the API's documents leads to one of their pages", () => {
  const { names } = docsPages(openApiDocument(endpoints, "0"), "0");
  const links = all(dashboard, /"\/docs\/?([^"]*)"/g);
  expect(links).toContain("batches");
  expect(links.filter((link) => link !== "" && !names.includes(link))).toEqual([]);
});

it("the audit log can be narrowed to each kind of its entries", () => {
  const kinds = all([...textsIn("durable-objects"), ...textsIn("src")], /audit\(\s*[`"]([a-z_]+)\./g);
  expect(kinds).toContain("person");
  const offered = all(dashboard, /^ {2}\["([a-z_]+)", "[^"]+"\],$/gm);
  expect(kinds.filter((kind) => !offered.includes(kind))).toEqual([]);
});
