// The archive: its days, and their jobs for other tools.

import type { ArchiveDay } from "../../contract/archive.ts";
import { STANDARD } from "../local-file.ts";
import type { Column } from "../terminal/cells.ts";
import type { Verb } from "../verb.ts";
import { writeAnswer } from "../write-answer.ts";
import { PAGE_FLAGS, showPages } from "./pages.ts";

const COLUMNS: readonly Column<ArchiveDay>[] = [
  { title: "day", of: ({ day }) => day },
  { title: "jobs", of: ({ jobs }) => jobs },
  { title: "parts", of: ({ parts }) => parts },
  { title: "bytes", of: ({ bytes }) => bytes },
];

export const archiveCommands: readonly Verb[] = [
  {
    name: "archive list",
    says: "Lists the days that the archive has, newest first",
    examples: ["archive list", "archive list --since 2026-01-01 --all --json"],
    flags: {
      since: { takes: "day", says: "this day or later, as 2026-01-31" },
      until: { takes: "day", says: "before this day" },
      ...PAGE_FLAGS,
    },
    run: async ({ client, output, signal }, input) => {
      const span = input.given("since", "until");
      const read = (limit: number | null) => client().archive.days({ ...span, limit }, { signal });
      await showPages(output, input, "days", read, COLUMNS);
    },
  },
  {
    name: "archive export",
    says: "Writes the archived jobs of a day, gzip of one JSON line each, to stdout or into a file",
    examples: [
      "archive export 2026-01-31 --output 2026-01-31.ndjson.gz",
      "archive export 2026-01-31 | gunzip | jq .status",
    ],
    args: [{ name: "day", says: "the day (UTC) on which they were created" }],
    flags: { output: { takes: "file", says: "also -o: where to write it; - is stdout" } },
    run: async (context, input) => {
      const found = await context.client().archive.export(input.arg("day"), { signal: context.signal });
      await writeAnswer(context, found, input.text("output") ?? STANDARD);
    },
  },
];
