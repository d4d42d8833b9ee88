// A part of the archive: some jobs of one tenant that were created on one day (UTC), as gzip of one JSON line each. A
// line is the job as the API presents it, with its events and attempts, so that other tools can read it.

import type { AttemptResource } from "../../../contract/jobs/insight.ts";
import type { JobEventResource, JobResource } from "../../../contract/jobs/job.ts";
import { DAY_MS } from "../../../domain/words/duration.ts";
import { timeOfId } from "../../../domain/words/time-of-id.ts";
import { through } from "../through.ts";

export interface ArchivedLine extends JobResource {
  readonly archived: true;
  /** Of two lines with one id the higher version is the job. */
  readonly version: number;
  readonly key_id: string | null;
  readonly events: readonly JobEventResource[];
  /** `attempts` is their number. */
  readonly attempt_list: readonly AttemptResource[];
}

/** The job alone, for answers. */
export const jobOfLine = (line: ArchivedLine): JobResource => {
  const { version: _version, key_id: _key, events: _events, attempt_list: _attempts, ...job } = line;
  return job;
};

const TIMED_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;

/** The day (UTC) that a job's id tells, as 2026-11-23; null if it tells none. */
export const dayOfId = (id: string): string | null => (TIMED_ID.test(id) ? dayOf(timeOfId(id)) : null);

export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

const idAt = (at: number): string => {
  const time = at.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}`;
};

/** The ids of a day are from the first, and below the second. */
export const idsOfDay = (day: string): [from: string, below: string] => {
  const at = Date.parse(day);
  return [idAt(at), idAt(at + DAY_MS)];
};

export const packPart = (lines: readonly ArchivedLine[]): Promise<Uint8Array<ArrayBuffer>> => {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  return through(new Uint8Array(new TextEncoder().encode(text)), new CompressionStream("gzip"));
};

/** So much of a part is read in one turn of the event loop: a page reads many of them, and others wait meanwhile. */
const CHARS_A_TURN = 500_000;

/** A part's lines; only those that have `text`. */
export async function* unpackPart(bytes: Uint8Array<ArrayBuffer>, text = ""): AsyncGenerator<ArchivedLine> {
  const whole = new TextDecoder().decode(await through(bytes, new DecompressionStream("gzip")));
  let chars = 0;
  for (const line of whole.split("\n")) {
    if (line === "" || !line.includes(text)) continue;
    yield JSON.parse(line);
    chars += line.length;
    if (chars < CHARS_A_TURN) continue;
    chars = 0;
    await scheduler.wait(0);
  }
}

export interface PartName {
  readonly day: string;
  readonly name: string;
}

export const keyOf = (tenant: string, { day, name }: PartName): string => `${tenant}/${day}/${name}`;
