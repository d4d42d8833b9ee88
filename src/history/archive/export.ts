// The archive's days, and a day's parts as one gzip file: gzip files that are joined are one. A day is first read to see
// that no part is damaged, because what has begun cannot be refused. Its first parts are kept until they are sent; those
// that would take much memory beside a slow client are read again.

import type { ArchiveDay, ArchiveQuery } from "../../../contract/archive.ts";
import { readPage } from "../page.ts";
import { readHistory, workOnHistory } from "../store.ts";
import type { TenantHistory } from "../tenant-history.ts";
import type { PartName } from "./part.ts";
import { DamagedPart, logDamaged, readPart } from "./recorded.ts";
import type { ArchiveStore } from "./store.ts";

/** As many reads as a Worker may have under way. */
const PARTS_AT_ONCE = 6;

const KEPT_BYTES = 1024 * 1024;

interface DayPart extends PartName {
  readonly sha256: string;
}

/** A part that is not damaged. */
interface WholePart extends DayPart {
  /** Null: it is read again. */
  readonly bytes: Uint8Array<ArrayBuffer> | null;
}

/** Newest first. */
export const listDays = (
  history: TenantHistory,
  { since = "", until = "~", limit, offset }: ArchiveQuery,
): Promise<{ days: readonly ArchiveDay[]; total: number }> =>
  readHistory(async () => {
    const chosen = "FROM archive_parts WHERE tenant = ?1 AND day >= ?2 AND day < ?3";
    const page = history.statement(
      `SELECT day, SUM(jobs) AS jobs, COUNT(*) AS parts, SUM(bytes) AS bytes ${chosen}
       GROUP BY day ORDER BY day DESC LIMIT ?4 OFFSET ?5`,
      since,
      until,
      limit,
      offset,
    );
    const count = history.statement(`SELECT COUNT(DISTINCT day) AS total ${chosen}`, since, until);
    const { rows, total } = await readPage<ArchiveDay>(history, page, count);
    return { days: rows, total };
  });

/** @throws DamagedPart */
const wholeParts = async (store: ArchiveStore, tenant: string, parts: readonly DayPart[]): Promise<WholePart[]> => {
  const whole: WholePart[] = [];
  let keptBytes = 0;
  try {
    for (let at = 0; at < parts.length; at += PARTS_AT_ONCE) {
      const some = parts.slice(at, at + PARTS_AT_ONCE);
      for (const part of await Promise.all(some.map((one) => readPart(store, tenant, one)))) {
        keptBytes += part.bytes.byteLength;
        whole.push(keptBytes <= KEPT_BYTES ? part : { ...part, bytes: null });
      }
    }
    return whole;
  } catch (error) {
    if (error instanceof DamagedPart) logDamaged(tenant, [error]);
    throw error;
  }
};

/** Null if the archive has nothing of that day. A damaged part is a refusal. */
export const exportDay = (
  history: TenantHistory,
  store: ArchiveStore,
  day: string,
): Promise<ReadableStream<Uint8Array> | null> =>
  workOnHistory(async () => {
    const { results } = await history
      .statement("SELECT day, name, sha256 FROM archive_parts WHERE tenant = ?1 AND day = ?2 ORDER BY name", day)
      .all<DayPart>();
    if (results.length === 0) return null;
    const { tenant } = history;
    const left = await wholeParts(store, tenant, results);
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const part = left.shift();
          if (part === undefined) controller.close();
          else controller.enqueue(part.bytes ?? (await readPart(store, tenant, part)).bytes);
        },
      },
      { highWaterMark: 0 },
    );
  });
