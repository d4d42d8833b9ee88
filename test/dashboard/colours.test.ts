// Colours that stand beside each other in one chart, as a reader without green cones sees them.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { SCORE_PARTS } from "../../domain/words/score-part.ts";

const sheet = (name: string): string =>
  readFileSync(new URL(`../../dashboard/styles/${name}`, import.meta.url), "utf8");

type Triple = readonly [number, number, number];

const TOKENS = sheet("tokens.css");
const [LIGHT = "", DARK = ""] = TOKENS.split(':root[data-theme="dark"]');

const colourOf = (theme: string, name: string): Triple => {
  const [, hex] = new RegExp(`--${name}: #([0-9a-f]{6});`).exec(theme) ?? [];
  if (hex === undefined) throw new Error(`no colour ${name}`);
  const part = (at: number): number => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [part(0), part(2), part(4)];
};

const times = (rows: readonly Triple[], [a, b, c]: Triple): Triple =>
  rows.map(([x, y, z]) => x * a + y * b + z * c) as unknown as Triple;

/** Linear RGB under deuteranopia and protanopia, by Machado, Oliveira and Fernandes (2009). */
const BLINDNESS: Readonly<Record<string, readonly Triple[]>> = {
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
};

const XYZ: readonly Triple[] = [
  [0.4124, 0.3576, 0.1805],
  [0.2126, 0.7152, 0.0722],
  [0.0193, 0.1192, 0.9505],
];
const WHITE: Triple = [0.9505, 1, 1.089];

const labOf = (linear: Triple): Triple => {
  const root = (value: number, at: 0 | 1 | 2): number => {
    const share = Math.max(0, value) / WHITE[at];
    return share > 0.008856 ? Math.cbrt(share) : 7.787 * share + 16 / 116;
  };
  const [x, y, z] = times(XYZ, linear);
  const [fx, fy, fz] = [root(x, 0), root(y, 1), root(z, 2)];
  return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)];
};

/** ΔE of CIE 1976, with the smallest of the kinds of sight. */
const apart = (theme: string, one: string, other: string): number =>
  Math.min(
    ...Object.values(BLINDNESS).map((rows) => {
      const [a, b] = [one, other].map((name) => labOf(times(rows, colourOf(theme, name))));
      return Math.hypot(...(a ?? []).map((value, at) => value - (b?.[at] ?? 0)));
    }),
  );

/** Far more than two shades of one colour: green and red are 10 to 12 apart. */
const CLEARLY = 20;

const COLOUR = /colour: "--([\w-]+)"/g;
const lines = readFileSync(new URL("../../dashboard/overview/traffic-plots.tsx", import.meta.url), "utf8");
const plotColours = [...lines.matchAll(COLOUR)].map(([, name]) => name ?? "");
const phases = [...sheet("attempts.css").matchAll(/\.phase-(\w+) \{\n {2}fill: var\(--([\w-]+)\)/g)];

describe.each([
  ["light", LIGHT],
  ["dark", DARK],
])("in the %s theme, for who sees no green or no red", (_, theme) => {
  it("throughput's completed and failed, and the two lines of waiting, are two colours", () => {
    expect(plotColours.length).toBe(4);
    for (const [one = "", other = ""] of [plotColours.slice(0, 2), plotColours.slice(2)])
      expect(apart(theme, one, other), `${one} beside ${other}`).toBeGreaterThan(CLEARLY);
  });

  it("the phases of an attempt that follow each other are two colours", () => {
    const of = Object.fromEntries(phases.map(([, phase, name]) => [phase, name ?? ""]));
    const follows = [
      ["queue", "assigned"],
      ["assigned", "first_token"],
      ["assigned", "running"],
      ["first_token", "running"],
      ["queue", "backoff"],
      ["backoff", "assigned"],
    ];
    for (const [before = "", after = ""] of follows) {
      const [one = "", other = ""] = [of[before], of[after]];
      expect(apart(theme, one, other), `${before} beside ${after}`).toBeGreaterThan(CLEARLY);
    }
  });

  it("each part of a score has a colour, and that of a conversation is another than its neighbour's", () => {
    for (const part of [...SCORE_PARTS, "affinity"]) expect(colourOf(theme, `part-${part}`)).toHaveLength(3);
    expect(apart(theme, "part-tier", "part-affinity")).toBeGreaterThan(CLEARLY);
  });

  it("green and red are one, which is why no chart has them side by side", () => {
    expect(apart(theme, "green", "red")).toBeLessThan(CLEARLY);
  });
});
