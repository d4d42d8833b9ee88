// Reads the archive: one job by its id, and lists, newest first. Which parts to read is known from their rows; a list
// reads a bounded number of them for one answer and then goes on with the cursor.

import type { JobResource } from "../../../contract/jobs/job.ts";
import type { JobListQuery } from "../../../contract/jobs/job-list.ts";
import { startOf } from "../../../contract/text/start-of.ts";
import { fromIso } from "../../../contract/words/field.ts";
import { invalid } from "../../../domain/words/refusal.ts";
import { Refused } from "../../http/refused.ts";
import { type PlaceInList, readCursor, writeCursor } from "../job-cursor.ts";
import type { JobPage } from "../lists/list-jobs.ts";
import { workOnHistory } from "../store.ts";
import type { TenantHistory } from "../tenant-history.ts";
import { matchesLine } from "./filter.ts";
import { type ArchivedLine, dayOf, dayOfId, jobOfLine } from "./part.ts";
import { type DamagedPart, linesOf, logDamaged } from "./recorded.ts";
import type { ArchiveStore } from "./store.ts";

/** Each is a megabyte or less, and at most a few. */
export const PARTS_AN_ANSWER = 40;
/** Parts of one day that overlap: at most one for each day on which a late job of it ended. */
const PARTS_AT_A_PLACE = 100;

interface PartRow {
  readonly day: string;
  readonly name: string;
  readonly max_id: string;
}

const newer = (one: ArchivedLine | undefined, other: ArchivedLine): ArchivedLine =>
  one === undefined || one.version < other.version ? other : one;

/** Null if the archive has no such job. A damaged part that may have it is a refusal, if no other part has it. */
export const findInArchive = (history: TenantHistory, store: ArchiveStore, id: string): Promise<ArchivedLine | null> =>
  workOnHistory(async () => {
    const day = dayOfId(id);
    if (day === null) return null;
    const { results } = await history
      .statement(
        `SELECT day, name, max_id FROM archive_parts
         WHERE tenant = ?1 AND day = ?2 AND min_id <= ?3 AND max_id >= ?3 LIMIT ${PARTS_AT_A_PLACE}`,
        day,
        id,
      )
      .all<PartRow>();
    const { tenant } = history;
    const damaged: DamagedPart[] = [];
    let found: ArchivedLine | undefined;
    for (const part of results)
      for await (const line of linesOf(store, tenant, part, damaged, id))
        if (line.id === id) found = newer(found, line);
    logDamaged(tenant, damaged);
    if (found === undefined && damaged[0] !== undefined) throw damaged[0];
    return found ?? null;
  });

/** Sorts after every id that begins with the same. */
const PAST = "~";

const refuseUnfit = (query: JobListQuery): void => {
  if (query.sort !== "created_at") throw new Refused(invalid("sort", "of archived jobs is created_at, newest first"));
  if (query.offset > 0) throw new Refused(invalid("offset", "does not work with archived jobs: use next_cursor"));
  for (const name of ["unpriced", "unpriced_since", "unpriced_until"] as const)
    if (query[name] !== undefined) throw new Refused(invalid(name, "is not known of archived jobs"));
};

/** Parts that may have jobs of the query, and one more than are read; those around the cursor come beside these. */
const partsOf = async (history: TenantHistory, query: JobListQuery, below: string): Promise<PartRow[]> => {
  const since = query.since === undefined ? "" : dayOf(fromIso(query.since) - 1);
  const until = query.until === undefined ? PAST : dayOf(fromIso(query.until));
  const sql = (condition: string, limit: number) =>
    history.statement(
      `SELECT day, name, max_id FROM archive_parts
         WHERE tenant = ?1 AND day >= ?2 AND day <= ?3 AND min_id < ?4 AND ${condition}
         ORDER BY day DESC, max_id DESC LIMIT ${limit}`,
      since,
      until,
      below,
    );
  const [around, others] = await history.db.batch<PartRow>([
    sql("max_id >= ?4", PARTS_AT_A_PLACE),
    sql("max_id < ?4", PARTS_AN_ANSWER + 1),
  ]);
  return [...(around?.results ?? []), ...(others?.results ?? [])];
};

/** Without the jobs of damaged parts, which it names. */
export const listArchive = (history: TenantHistory, store: ArchiveStore, query: JobListQuery): Promise<JobPage> =>
  workOnHistory(async () => {
    refuseUnfit(query);
    const below = query.cursor === undefined ? PAST : readCursor(query.sort, query.cursor).id;
    const parts = await partsOf(history, query, below);
    const readable = parts.length - Math.max(0, parts.filter(({ max_id }) => max_id < below).length - PARTS_AN_ANSWER);
    const seen = new NewestLines(query);
    const { tenant } = history;
    const damaged: DamagedPart[] = [];
    /** The largest id that a part may have that was not read. */
    let unread: string | null = null;
    for (const [index, part] of parts.entries()) {
      if (index >= readable || seen.hasPageAbove(part.max_id)) {
        unread = part.max_id;
        break;
      }
      for await (const line of linesOf(store, tenant, part, damaged)) if (line.id < below) seen.add(line);
      seen.forgetRest();
    }
    logDamaged(tenant, damaged);
    const page = pageOf(seen.lines, unread, query);
    return damaged.length === 0 ? page : { ...page, damaged_parts: damaged.map(({ part }) => part) };
  });

/** Matching lines, the newest of them; of two versions of a job the later one counts. */
class NewestLines {
  readonly #query: JobListQuery;
  readonly #versions = new Map<string, number>();
  #found = new Map<string, ArchivedLine>();

  constructor(query: JobListQuery) {
    this.#query = query;
  }

  get lines(): ArchivedLine[] {
    return [...this.#found.values()].sort((one, other) => (one.id < other.id ? 1 : -1));
  }

  add(line: ArchivedLine): void {
    if (line.version <= (this.#versions.get(line.id) ?? -1)) return;
    this.#versions.set(line.id, line.version);
    if (matchesLine(line, this.#query)) this.#found.set(line.id, line);
    else this.#found.delete(line.id);
  }

  hasPageAbove(id: string): boolean {
    return this.lines.filter((line) => line.id > id).length > this.#query.limit;
  }

  /** One more than a page, which says that there is more. */
  forgetRest(): void {
    this.#found = new Map(this.lines.slice(0, this.#query.limit + 1).map((line) => [line.id, line]));
  }
}

const pageOf = (found: readonly ArchivedLine[], unread: string | null, query: JobListQuery): JobPage => {
  const sure = found.filter(({ id }) => unread === null || id > unread);
  const shown = sure.slice(0, query.limit);
  const last = shown.at(-1);
  const isCut = sure.length > shown.length && last !== undefined;
  const place: PlaceInList | null = isCut
    ? { value: null, id: last.id }
    : unread === null
      ? null
      : { value: null, id: `${unread}${PAST}` };
  return {
    jobs: shown.map((line) => shortened(jobOfLine(line), query.max_chars)),
    total: shown.length,
    total_is_capped: place !== null,
    next_cursor: place === null ? null : writeCursor(query.sort, place),
  };
};

/** As a list from history: long texts are cut, and said to be. */
const shortened = (job: JobResource, maxChars: number): JobResource => {
  const isLong = (name: "input" | "result"): boolean =>
    job[name] !== null && JSON.stringify(job[name]).length > maxChars;
  const truncated = [
    ...(job.prompt.length > maxChars ? (["prompt"] as const) : []),
    ...(["input", "result"] as const).filter(isLong),
  ];
  if (truncated.length === 0) return job;
  const cut = Object.fromEntries(
    truncated.map((name) => [name, name === "prompt" ? startOf(job.prompt, maxChars) : null]),
  );
  return { ...job, ...cut, truncated } as JobResource;
};
