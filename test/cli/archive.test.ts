// The archive by command, on a service that is a function.

import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { folderForEachTest } from "../support/temporary-folder.ts";
import { runCommand } from "./run-command.ts";

const folder = folderForEachTest();

test("list shows a row for each day; export writes a day's bytes into a file", async () => {
  const asked: string[] = [];
  const { out } = await runCommand(["archive", "list", "--since", "2026-01-01"], ({ pathname, search }) => {
    asked.push(`${pathname}${search}`);
    return { days: [{ day: "2026-01-31", jobs: 7, parts: 2, bytes: 900 }], total: 1 };
  });
  expect(out).toBe("2026-01-31\t7\t2\t900\n");
  const target = path.join(folder.path, "day.ndjson.gz");
  await runCommand(["archive", "export", "2026-01-31", "--output", target], ({ pathname }) => {
    asked.push(pathname);
    return new Response("compressed");
  });
  expect(readFileSync(target, "utf8")).toBe("compressed");
  expect(asked).toEqual(["/api/archive?since=2026-01-01", "/api/archive/2026-01-31"]);
});
