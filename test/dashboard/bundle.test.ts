// The built files: small, complete, and within the content security policy.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";

const BUILT = path.resolve(import.meta.dirname, "../../dist/dashboard");
const MAX_SCRIPT_BYTES = 90 * 1024;

const built = (ending: string): string[] =>
  readdirSync(BUILT, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(ending));

describe("the built dashboard", () => {
  it("has less than 90 KB of compressed JavaScript, all of it together", () => {
    const sizes = built(".js").map((name) => gzipSync(readFileSync(path.join(BUILT, name))).length);
    expect(sizes.length).toBeGreaterThan(0);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_SCRIPT_BYTES);
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
