// Prompts of real text, from the documents; those that are compressed together have nothing in common.

import { readFileSync } from "node:fs";
import path from "node:path";

const PAGES = ["operate", "limits", "data", "clients", "fleet", "guarantees"];

export const promptsOf = (chars: number): ((index: number) => string) => {
  const pages = PAGES.map((name) => readFileSync(path.resolve(import.meta.dirname, `../../docs/${name}.md`), "utf8"));
  const text = pages.join("\n").repeat(2);
  const places = text.length - chars;
  return (index) => text.slice((index * chars) % places).slice(0, chars);
};
