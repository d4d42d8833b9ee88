// The archive by command, on a service that is a function.

import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { folderForEachTest } from "../support/temporary-folder.ts";
import { runCommand } from "./run-command.ts";

const folder = folderForEachTest();

test("jobs list --archived goes through every page, also past an empty one", async () => {
  const asked: string[] = [];
  const job = (id: string) => ({
    id,
    status: "completed",
    created_at: "2026-01-31T00:00:00Z",
    prompt: id,
    error: null,
  });
  const pages: Record<string, object> = {
    "": { jobs: [job("c")], total: 1, next_cursor: "1" },
    "1": { jobs: [], total: 0, next_cursor: "2" },
    "2": { jobs: [job("b"), job("a")], total: 2, next_cursor: null },
  };
  const { out, err } = await runCommand(["jobs", "list", "--archived", "--all"], ({ searchParams }) => {
    asked.push(searchParams.get("archived") ?? "");
    return pages[searchParams.get("cursor") ?? ""] ?? {};
  });
  expect(out.split("\n").map((line) => line.split("\t")[0])).toEqual(["c", "b", "a", ""]);
  expect([asked, err]).toEqual([["true", "true", "true"], ""]);
});

test("jobs list --archived names the parts that are lost, of every page", async () => {
  const lost = { jobs: [], total: 0 };
  const pages: Record<string, object> = {
    "": { ...lost, next_cursor: "1", damaged_parts: ["2026-01-31/b"] },
    "1": { ...lost, next_cursor: null, damaged_parts: ["2026-01-30/a"] },
  };
  const { out, err } = await runCommand(
    ["jobs", "list", "--archived", "--all"],
    ({ searchParams }) => pages[searchParams.get("cursor") ?? ""] ?? {},
  );
  expect([out, err]).toEqual([
    "",
    "Without the jobs of the archive's damaged or missing parts: 2026-01-31/b, 2026-01-30/a.\n",
  ]);
});

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
