// What has one place: the log of the service, what a routing strategy does, and how a test replaces a module.

import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";

const ROOT = path.join(import.meta.dirname, "../..");

const linesWith = async (rooms: string, pattern: RegExp): Promise<string[]> => {
  const found: string[] = [];
  const places = rooms.split(",").map((room) => `${room}/**/*.ts`);
  for await (const file of glob(places, { cwd: ROOT }))
    for (const line of readFileSync(path.join(ROOT, file), "utf8").split("\n"))
      if (pattern.test(line)) found.push(`${file.replaceAll(path.sep, "/")}: ${line.trim()}`);
  return found;
};

it("the service writes to the console in its log alone, whose lines have a level, an event and a form", async () => {
  const written = await linesWith("contract,domain,durable-objects,log,self-host/edge,src", /\bconsole\./);
  expect(written.filter((line) => !line.startsWith("log/log.ts: "))).toEqual([]);
});

it("nothing compares a strategy's name: what it does is read from its row of domain/routing/strategy.ts", async () => {
  expect(await linesWith("contract,domain,durable-objects,src", /\bstrategy\)? *[!=]==? *"/)).toEqual([]);
});

it("a test replaces a module by `freshWith` alone: `vi.mock` does nothing beside files that have loaded it", async () => {
  expect(await linesWith("test", /\bvi\.(doMock|mock)\(/)).toEqual([
    expect.stringMatching(/^test\/support\/fresh-modules\.ts: vi\.doMock\(name,/),
  ]);
});
