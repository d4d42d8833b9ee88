// The code that workerd runs, as the build wrote it: which line of the source each of its places comes from.

import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../..");
const MAP = path.join(ROOT, "dist/worker/index.js.map");

export class Bundle {
  readonly #map = new SourceMap(JSON.parse(readFileSync(MAP, "utf8")));

  /** `<file>:<line>` in this repository, or in a package; null for a place of no source. Line and column from 0. */
  placeAt(line: number, column: number): string | null {
    const { originalSource, originalLine } = this.#map.findEntry(line, column) as Partial<SourceMapping>;
    if (originalSource === undefined || originalLine === undefined) return null;
    const file = path.relative(ROOT, path.resolve(path.dirname(MAP), originalSource));
    return `${file.replace(/^.*node_modules\//, "")}:${originalLine + 1}`;
  }
}

type SourceMapping = ReturnType<SourceMap["findEntry"]> & { originalSource: string; originalLine: number };
