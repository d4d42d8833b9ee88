// The archive's days on the wire: what there is to export.

import * as z from "zod";
import { count, listQuery, page } from "./words/field.ts";

const day = z.iso
  .date({ error: "must be a day, as in 2026-01-31" })
  .meta({ description: "the day (UTC) on which its jobs were created" });

export const archiveQuery = z.strictObject({
  ...listQuery,
  since: day.optional().meta({ description: "this day or later" }),
  until: day.optional().meta({ description: "before this day" }),
});
export const archiveDayParam = z.object({ day });

export const archiveDay = z
  .object({
    day,
    jobs: count.meta({ description: "lines; a job that changed while it was archived may have two" }),
    parts: count,
    bytes: count.meta({ description: "of the export, which is compressed" }),
  })
  .meta({ id: "ArchiveDay" });
export const archiveList = z.object({ days: z.array(archiveDay), ...page }).meta({ id: "ArchiveList" });

export type ArchiveQuery = z.infer<typeof archiveQuery>;
export type ArchiveDay = z.infer<typeof archiveDay>;
export type ArchiveList = z.infer<typeof archiveList>;
