// What has one place in the code: the log of the service, and what a routing strategy does.

import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";

const ROOT = path.join(import.meta.dirname, "../..");

const linesWith = async (rooms: string, pattern: RegExp): Promise<string[]> => {
  const found: string[] = [];
  for await (const file of glob(`{${rooms}}/**/*.ts`, { cwd: ROOT }))
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
