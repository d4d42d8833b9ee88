// What must be true of files and stored answers: a file's bytes are those that were sent, what is deleted stays away,
// and what is counted beside the texts is what they have.

import type { FileRecord } from "../../../domain/file/file.ts";
import type { StoredResponse } from "../../../domain/front-door/stored-response.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import type { Row } from "../../../durable-objects/store/sql.ts";
import type { World } from "../world.ts";
import type { Check } from "./invariants.ts";

export const FILES = "SELECT bytes, is_whole, record FROM files";
export const RESPONSES =
  "SELECT record, answer, chars, LENGTH(head) + COALESCE(LENGTH(input), 0) + COALESCE(LENGTH(answer), 0) AS counted FROM responses";

const HELD = `SELECT '' AS owner, COUNT(*) AS files, COALESCE(SUM(bytes), 0) AS bytes FROM files
  UNION ALL SELECT owner, COUNT(*), SUM(bytes) FROM files WHERE owner IS NOT NULL GROUP BY owner ORDER BY 1`;

export const filesHold: Check = (before, now, { model, shell }) => {
  if (now.files === before.files && !now.isWhole) return null;
  const counted = JSON.stringify(shell.disk.rows("SELECT owner, files, bytes FROM file_sums ORDER BY owner"));
  const held = JSON.stringify(shell.disk.rows(HELD));
  if (counted !== held) return `files take ${held}, counted ${counted}`;
  for (const row of now.files) {
    const { id, bytes, sha256, view } = JSON.parse(row.record as string) as FileRecord;
    if (row.bytes !== bytes || row.is_whole !== Number(sha256 !== null))
      return `the row of file ${id} is not its record`;
    if (model.deleted.has(id)) return `file ${id} was deleted, and is here`;
    if (sha256 === null || view !== undefined) continue;
    const sent = model.sentFiles.get(id);
    // Of a tenant that moved, what batches made was copied.
    if (sent === undefined) continue;
    if (sent.bytes !== bytes || sent.sha256 !== sha256)
      return `file ${id} has ${bytes} bytes (${sha256}), and ${sent.bytes} were sent`;
    if (!shell.files.has(id)) return `file ${id} is here without its bytes`;
  }
  return null;
};

const END = { completed: "completed", failed: "failed", cancelled: "cancelled" } as const;

const responseIsTrue = (row: Row, now: Parameters<Check>[1], { model }: World): string | null => {
  const response = JSON.parse(row.record as string) as StoredResponse;
  const { id, end } = response;
  if (model.deleted.has(id)) return `stored answer ${id} was deleted, and is here`;
  if (row.chars !== row.counted)
    return `the texts of answer ${id} have ${row.counted} characters, counted ${row.chars}`;
  const job = now.jobs.get(id)?.job ?? model.seen.get(id)?.job;
  if (job === undefined || !isFinal(job.status)) return null;
  if (end?.status !== END[job.status as keyof typeof END])
    return `job ${id} is ${job.status}, and its stored answer ${end?.status ?? "open"}`;
  if (row.answer === null) return null;
  const { report } = JSON.parse(row.answer as string) as { report: number };
  return model.reports[report]?.jobId === id ? null : `answer ${id} is that of ${model.reports[report]?.jobId}`;
};

export const storedAnswersHold: Check = (before, now, world) => {
  if (now.responses === before.responses && now.changed.length === 0 && !now.isWhole) return null;
  let chars = 0;
  for (const row of now.responses) {
    const wrong = responseIsTrue(row, now, world);
    if (wrong !== null) return wrong;
    chars += row.chars as number;
  }
  const [counted] = world.shell.disk.rows("SELECT chars FROM response_sums");
  return chars === Number(counted?.chars ?? 0)
    ? null
    : `stored answers have ${chars} characters, counted ${counted?.chars}`;
};

/** An object that missed the message ends by its own alarm. */
export const nothingOfTheDeletedIsLeft = ({ shell, model }: World): string | null => {
  const batch = shell.disk.rows("SELECT id FROM batches").find(({ id }) => model.deleted.has(id as string));
  if (batch !== undefined) return `batch ${batch.id} was deleted, and is here`;
  if (!shell.isUnbroken || shell.files.hasFailed) return null;
  const known = new Set(shell.disk.rows("SELECT id FROM files").map(({ id }) => id as string));
  const left = [...model.deleted].find((id) => !known.has(id) && shell.files.has(id));
  return left === undefined ? null : `file ${left} was deleted, and its bytes are there`;
};
