// The import rules. Each room states what it may import; the guard reads every import of every file, and is itself
// tested with imports planted in memory.

import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = path.join(import.meta.dirname, "../..");

interface Room {
  /** Folders and files; the longest match for a path decides. The first names the room. */
  readonly places: readonly string[];
  /** Rooms, and single files of rooms, that it may import. */
  readonly may: readonly string[];
  /** Packages it may import; `node:` stands for Node's own. */
  readonly packages: readonly string[];
}

const WIRE = ["contract", "domain"];
const OBJECT = ["durable-objects", "durable-objects/operations"];
const EDGE_PACKAGES = ["hono", "zod"];

/** From the bottom up. A new room is a new row; a room without a row fails the test. */
const ROOMS: readonly Room[] = [
  { places: ["domain"], may: [], packages: [] },
  { places: ["migrations"], may: [], packages: ["drizzle-orm"] },
  { places: ["providers"], may: ["domain"], packages: [] },
  { places: ["contract"], may: ["domain"], packages: ["zod"] },

  { places: ["durable-objects/store"], may: WIRE, packages: [] },
  { places: ["durable-objects/operations"], may: [...WIRE, "durable-objects/store", "providers"], packages: [] },
  {
    places: ["durable-objects", "durable-objects/relay.ts"],
    may: [...WIRE, "durable-objects/operations", "durable-objects/store"],
    packages: ["cloudflare:workers"],
  },

  {
    places: ["src/http", "src/env.ts", "src/home.ts"],
    may: [...WIRE, ...OBJECT],
    packages: EDGE_PACKAGES,
  },
  { places: ["src/files"], may: [...WIRE, "durable-objects", "src/http"], packages: [] },
  { places: ["src/history"], may: [...WIRE, "migrations", "src/http"], packages: ["zod"] },
  { places: ["src/catalog"], may: [...WIRE, "src/history/page.ts"], packages: ["yaml", "zod"] },
  {
    places: ["src/front-door"],
    may: [...WIRE, ...OBJECT, "src/files", "src/history", "src/http"],
    packages: EDGE_PACKAGES,
  },
  {
    places: ["src/mcp"],
    may: ["contract", "src/http"],
    packages: ["zod", "@modelcontextprotocol/server"],
  },
  {
    places: ["src/routes"],
    may: [...WIRE, ...OBJECT, "src/catalog", "src/files", "src/history", "src/http"],
    packages: [...EDGE_PACKAGES, "yaml"],
  },
  {
    places: ["src", "src/app.ts", "src/index.ts"],
    may: [
      ...WIRE,
      "durable-objects",
      "src/catalog",
      "src/front-door",
      "src/history",
      "src/http",
      "src/mcp",
      "src/routes",
    ],
    packages: ["hono", "cloudflare:workers"],
  },

  {
    places: ["worker"],
    may: ["contract"],
    packages: ["@ai-sdk/anthropic", "@ai-sdk/google", "ai", "node:", "undici", "ws", "yaml", "zod"],
  },
  {
    places: ["dashboard"],
    may: ["contract"],
    packages: ["@preact/preset-vite", "@preact/signals", "preact", "vite"],
  },
  // It also runs in browsers.
  { places: ["sdk"], may: ["contract"], packages: [] },
  { places: ["cli"], may: ["contract", "sdk", "worker"], packages: ["node:"] },

  {
    places: ["scripts", "scripts/self-host"],
    may: [
      ...WIRE,
      "durable-objects",
      "providers",
      "src",
      "src/catalog",
      "src/http",
      "durable-objects/store/schema.ts",
      "test",
    ],
    packages: [
      "@hono/node-server",
      "@pydantic/genai-prices",
      "esbuild",
      "node:",
      "playwright-core",
      "vitest",
      "wrangler",
      "ws",
      "zod",
    ],
  },
  // It measures the router's choice and the catalog's sync alone, so it imports these two rooms.
  {
    places: ["bench"],
    may: [...WIRE, "migrations", "src/catalog"],
    packages: [
      "bullmq",
      "cloudflare:workers",
      "drizzle-orm",
      "esbuild",
      "miniflare",
      "node:",
      "pg-boss",
      "playwright-core",
      "ws",
    ],
  },
];

const nameOf = ({ places }: Room): string => places[0] as string;

const isWithin = (file: string, place: string): boolean => file === place || file.startsWith(`${place}/`);

const roomOf = (file: string): Room | null => {
  let best: { room: Room; length: number } | null = null;
  for (const room of ROOMS) {
    for (const place of room.places) {
      if (isWithin(file, place) && place.length > (best?.length ?? -1)) best = { room, length: place.length };
    }
  }
  return best?.room ?? null;
};

const packageOf = (specifier: string): string => {
  if (specifier.startsWith("node:")) return "node:";
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
};

/** What is wrong with one import of one file; null if it is allowed. */
const wrongWith = (file: string, specifier: string): string | null => {
  const room = roomOf(file);
  if (room === null) return `${file} is in no room: add a row to ROOMS`;
  if (!specifier.startsWith(".")) {
    const name = packageOf(specifier);
    return room.packages.includes(name) ? null : `${file} imports the package ${name}, ${nameOf(room)} does not`;
  }
  const target = path.posix.normalize(path.posix.join(path.posix.dirname(file), specifier));
  const targetRoom = roomOf(target);
  if (targetRoom === room) return null;
  const allowed = room.may.includes(target) || (targetRoom !== null && room.may.includes(nameOf(targetRoom)));
  return allowed || (target.startsWith("test/") && room.may.includes("test"))
    ? null
    : `${file} imports ${target}: ${nameOf(room)} does not import ${targetRoom === null ? target : nameOf(targetRoom)}`;
};

const IMPORT = /^(?:import|export)\s(?:[^;"]*?\sfrom\s)?"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/gm;

const importsOf = (source: string): string[] =>
  [...source.matchAll(IMPORT)].map(([, stated, dynamic]) => stated ?? dynamic ?? "");

/** Imports of values; type imports leave nothing at run time. */
const valueImportsOf = (source: string): string[] =>
  importsOf(source.replaceAll(/^(?:import|export) type [^;]*;$/gm, ""));

const relative = (from: string, to: string): string => {
  const found = path.posix.relative(path.posix.dirname(from), to);
  return found.startsWith(".") ? found : `./${found}`;
};

const sources = new Map<string, string>();
for await (const entry of glob("**/*.{ts,tsx}", {
  cwd: ROOT,
  exclude: (name) => ["node_modules", "dist", "test"].includes(name) || name.startsWith("."),
})) {
  const file = entry.replaceAll(path.sep, "/");
  if (file.includes("/")) sources.set(file, readFileSync(path.join(ROOT, file), "utf8"));
}

describe("every import", () => {
  it("goes down, to a room that its own room may read", () => {
    const wrong = [...sources].flatMap(([file, source]) =>
      importsOf(source).map((specifier) => wrongWith(file, specifier)),
    );
    expect(wrong.filter((one) => one !== null)).toEqual([]);
  });

  it("needs what its room's row allows: no place, room or package stands there for nothing", () => {
    const used = new Map(ROOMS.map((room) => [room, new Set<string>()]));
    for (const [file, source] of sources) {
      const room = roomOf(file);
      if (room === null) continue;
      const found = used.get(room);
      for (const place of room.places) if (isWithin(file, place)) found?.add(place);
      for (const specifier of importsOf(source)) {
        const target = path.posix.join(path.posix.dirname(file), specifier);
        const targetRoom = roomOf(target);
        if (!specifier.startsWith(".")) found?.add(packageOf(specifier));
        else
          for (const one of [target, target.split("/")[0] ?? "", targetRoom && nameOf(targetRoom)])
            if (one) found?.add(one);
      }
    }
    const idle = ROOMS.flatMap((room) =>
      [...room.places, ...room.may, ...room.packages]
        .filter((one) => !used.get(room)?.has(one))
        .map((one) => `${nameOf(room)}: ${one}`),
    );
    expect(idle).toEqual([]);
  });

  it("is part of no circle", () => {
    const circles: string[] = [];
    const done = new Set<string>();
    const visit = (file: string, trail: readonly string[]): void => {
      if (trail.includes(file)) circles.push([...trail.slice(trail.indexOf(file)), file].join(" → "));
      if (trail.includes(file) || done.has(file)) return;
      for (const specifier of valueImportsOf(sources.get(file) ?? "")) {
        if (specifier.startsWith(".")) visit(path.posix.join(path.posix.dirname(file), specifier), [...trail, file]);
      }
      done.add(file);
    };
    for (const file of sources.keys()) visit(file, []);
    expect(circles).toEqual([]);
  });

  it("is found: the files of this repository have many", () => {
    const found = [...sources.values()].reduce((total, source) => total + importsOf(source).length, 0);
    expect(found).toBeGreaterThan(1_000);
  });
});

describe("the guard", () => {
  const planted = ROOMS.flatMap((room) => room.places.map((place) => ({ room, place })));

  it.each(planted)("finds what is planted in $place", ({ room, place }) => {
    const file = place.endsWith(".ts") ? place : `${place}/planted.ts`;
    for (const other of ROOMS) {
      if (other === room) continue;
      const target = `${(other.places.find((one) => !one.endsWith(".ts")) ?? "") as string}/planted.ts`;
      const [specifier] = importsOf(`import { planted } from "${relative(file, target)}";\n`);
      const isAllowed = room.may.includes(nameOf(other));
      expect([file, target, wrongWith(file, specifier ?? "") === null]).toEqual([file, target, isAllowed]);
    }
    for (const name of ["hono", "zod", "drizzle-orm", "cloudflare:workers", "node:fs", "react"]) {
      const [specifier] = importsOf(`import ${JSON.stringify(name)};\n`);
      expect([file, name, wrongWith(file, specifier ?? "") === null]).toEqual([
        file,
        name,
        room.packages.includes(packageOf(name)),
      ]);
    }
  });

  it("finds an import that is a type, goes over several lines, is dynamic, or only passes on", () => {
    const file = "durable-objects/store/planted.ts";
    for (const source of [
      'import type { App } from "../../src/app.ts";',
      'import {\n  app,\n  other,\n} from "../../src/app.ts";',
      'const app = await import("../../src/app.ts");',
      'export { app } from "../../src/app.ts";',
      'import "../../src/app.ts";',
      'import * as hono from "hono";',
    ]) {
      expect([source, importsOf(source).map((one) => wrongWith(file, one) !== null)]).toEqual([source, [true]]);
    }
  });

  it("knows no room above domain: it imports its siblings and nothing else", () => {
    for (const room of ROOMS) {
      if (nameOf(room) !== "domain") expect(wrongWith("domain/planted.ts", `../${nameOf(room)}/x.ts`)).not.toBeNull();
    }
  });

  it("fails a file in a folder that has no row", () => {
    expect(wrongWith("helpers/planted.ts", "../domain/job.ts")).toContain("no room");
  });
});
