// The built files: small, complete, and within the content security policy.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";

const BUILT = path.resolve(import.meta.dirname, "../../dist/dashboard");
const MAX_FIRST_VIEW_BYTES = 90 * 1024;
/** A page whose code is loaded when it is first shown. */
const MAX_LATER_BYTES = 12 * 1024;

const built = (ending: string): string[] =>
  readdirSync(BUILT, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(ending));

const compressedBytes = (name: string): number => gzipSync(readFileSync(path.join(BUILT, name))).length;

describe("the built dashboard", () => {
  it("needs at most 90 KB of compressed JavaScript for its first view, and little for each later page", () => {
    const html = readFileSync(path.join(BUILT, "index.html"), "utf8");
    const first = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map(([, name = ""]) => name);
    expect(first.length).toBeGreaterThan(0);
    expect(first.reduce((sum, name) => sum + compressedBytes(name), 0)).toBeLessThanOrEqual(MAX_FIRST_VIEW_BYTES);
    const later = built(".js").filter((name) => !first.includes(name));
    expect(later.length).toBeGreaterThan(0);
    for (const name of later) expect(compressedBytes(name), name).toBeLessThanOrEqual(MAX_LATER_BYTES);
  });

  it("has no inline script or style, and nothing from elsewhere", () => {
    const html = readFileSync(path.join(BUILT, "index.html"), "utf8");
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)/);
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/);
    expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  });

  it("writes text as text only", () => {
    const ours = readdirSync(path.resolve(import.meta.dirname, "../../dashboard"), {
      recursive: true,
      encoding: "utf8",
    });
    const sources = ours.filter((name) => /\.tsx?$/.test(name));
    for (const name of sources) {
      const source = readFileSync(path.resolve(import.meta.dirname, "../../dashboard", name), "utf8");
      expect(source, name).not.toMatch(/innerHTML|insertAdjacentHTML|document\.write|eval\(/);
    }
  });

  it("does not carry the schemas of the contract", () => {
    const scripts = built(".js")
      .map((name) => readFileSync(path.join(BUILT, name), "utf8"))
      .join("");
    expect(scripts).not.toMatch(/ZodError|\$ZodType/);
  });
});
