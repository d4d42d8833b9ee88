// The import rules. `rooms/` states what each room may import; the guard reads every import of every file, and is itself
// tested with imports planted in memory.

import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { Room } from "./rooms/room.ts";
import { ROOMS } from "./rooms/rooms.ts";

const ROOT = path.join(import.meta.dirname, "../..");

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

/** Whether a row allows another room. */
const allows = (room: Room, other: Room): boolean =>
  room.may.some((one) => (one.endsWith("/*") ? isWithin(nameOf(other), one.slice(0, -2)) : one === nameOf(other)));

/** Its name, and the folders around it as `domain/*`. */
const waysToAllow = (room: Room): string[] => {
  const steps = nameOf(room).split("/");
  return [nameOf(room), ...steps.map((_, at) => `${steps.slice(0, at + 1).join("/")}/*`)];
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
  const allowed = room.may.includes(target) || (targetRoom !== null && allows(room, targetRoom));
  return allowed || (target.startsWith("test/") && room.may.includes("test"))
    ? null
    : `${file} imports ${target}: ${nameOf(room)} does not import ${targetRoom === null ? target : nameOf(targetRoom)}`;
};

const IMPORT = /^(?:import|export)\s(?:[^;"]*?\sfrom\s)?"([^"]+)"|(?<!')\bimport\(\s*"([^"]+)"\s*\)/gm;

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
        if (!specifier.startsWith(".")) {
          found?.add(packageOf(specifier));
          continue;
        }
        const target = path.posix.join(path.posix.dirname(file), specifier);
        const targetRoom = roomOf(target);
        const top = target.split("/", 1)[0] ?? "";
        for (const one of [target, top, ...(targetRoom ? waysToAllow(targetRoom) : [])]) found?.add(one);
      }
    }
    const idle = ROOMS.flatMap((room) =>
      [...room.places, ...room.may, ...room.packages]
        .filter((one) => !used.get(room)?.has(one))
        .map((one) => `${nameOf(room)}: ${one}`),
    );
    expect(idle).toEqual([]);
  });

  it("goes to a room further up in the table, so that no rooms form a circle", () => {
    const upward = ROOMS.flatMap((room, at) =>
      ROOMS.slice(at + 1)
        .filter((other) => allows(room, other))
        .map((other) => `${nameOf(room)} → ${nameOf(other)}`),
    );
    expect(upward).toEqual([]);
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

  it("comes from a folder that has a row of its own", () => {
    const folders = new Set([...sources.keys()].map((file) => path.posix.dirname(file)));
    const rows = new Set(ROOMS.flatMap(({ places }) => places));
    expect([...folders].filter((folder) => !rows.has(folder))).toEqual([]);
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
      const folder = other.places.find((one) => !one.endsWith(".ts"));
      const target = folder === undefined ? nameOf(other) : `${folder}/planted.ts`;
      const [specifier] = importsOf(`import { planted } from "${relative(file, target)}";\n`);
      const isAllowed = allows(room, other);
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

  it("knows nothing below the words that all rules share", () => {
    for (const room of ROOMS) {
      if (nameOf(room) !== "domain/words")
        expect(wrongWith("domain/words/planted.ts", `../../${nameOf(room)}/x.ts`)).not.toBeNull();
    }
  });

  it("fails a file in a folder that has no row", () => {
    expect(wrongWith("helpers/planted.ts", "../domain/job.ts")).toContain("no room");
  });
});
