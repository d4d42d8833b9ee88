// A list of jobs that does not move while it is used: statuses change in place, new jobs are counted and shown on
// request. Back returns to the list as it was.

import { useEffect, useRef, useState } from "preact/hooks";
import type { JobListQuery } from "../../../contract/jobs/job-list.ts";
import type { LiveJob } from "../../../contract/live.ts";
import { api } from "../../api.ts";
import { entry } from "../../router.ts";
import { jobs as liveJobs } from "../../state/board.ts";
import { serverNow } from "../../state/clock.ts";
import { asJobFilter, type Filter, matches } from "../../state/job-filter.ts";
import { recoveries } from "../../state/live.ts";
import { toLiveJob } from "../../state/live-job.ts";
import { useLoad } from "../../state/load.ts";
import { whenUserChanges } from "../../state/session.ts";
import { withRange } from "../../state/time-range.ts";
import { reasonOf } from "../../state/waiting.ts";

export interface Question {
  readonly filter: Filter;
  readonly range: string | null;
  readonly sort: string | null;
  readonly limit: number;
  readonly offset: number;
  readonly cursor: string | null;
  /** Of the archive: newest first, page by page. */
  readonly isArchived: boolean;
  /** Only jobs that wait for this reason; filtered here, because the API does not filter by reason. */
  readonly reason: string | null;
}

export interface HeldList {
  readonly question: string;
  /** The filter as it was sent, with its time range fixed. */
  readonly asked: Filter;
  readonly reason: string | null;
  readonly isFirstPage: boolean;
  readonly total: number;
  readonly isCapped: boolean;
  readonly nextCursor: string | null;
  /** Of the archive: what could not be read. */
  readonly damagedParts: readonly string[];
  rows: readonly LiveJob[];
  /** Jobs that match and are not in the list. */
  readonly newIds: Set<string>;
  /** Jobs that seem to match but that the coordinator did not list. */
  readonly ignoredIds: ReadonlySet<string>;
}

/** A row shows one line of the prompt, and no input or result. */
const LISTED_CHARS = 300;
const MAX_KEPT_LISTS = 10;
const MAX_NEW = 1000;
const kept = new Map<string, HeldList>();
whenUserChanges(() => kept.clear());

const keep = (name: string, list: HeldList): void => {
  kept.delete(name);
  kept.set(name, list);
  const [oldest] = kept.keys();
  if (kept.size > MAX_KEPT_LISTS && oldest !== undefined) kept.delete(oldest);
};

const ask = async (question: Question, signal: AbortSignal): Promise<HeldList> => {
  const askedAt = new Date(serverNow()).toISOString();
  const asked = withRange(question.filter, question.range, serverNow());
  const { limit, offset, cursor, sort, isArchived } = question;
  const query = {
    ...asJobFilter(asked),
    ...(isArchived ? ({ archived: "true" } as const) : {}),
    ...(cursor !== null ? { cursor } : isArchived ? {} : { offset }),
    limit,
    max_chars: LISTED_CHARS,
    sort: sort as JobListQuery["sort"] | null,
  };
  const found = await api.jobs.list(query, { signal });
  const isAbout = (job: LiveJob): boolean => question.reason === null || reasonOf(job) === question.reason;
  const rows = found.jobs.map(toLiveJob).filter(isAbout);
  const listed = new Set(rows.map(({ id }) => id));
  const unlisted = [...liveJobs.peek().values()].filter((job) => !listed.has(job.id) && job.updated_at < askedAt);
  return {
    question: JSON.stringify(question),
    asked,
    reason: question.reason,
    isFirstPage: cursor === null && offset === 0 && sort === null && !isArchived,
    total: found.total,
    isCapped: found.total_is_capped,
    nextCursor: found.next_cursor,
    damagedParts: found.damaged_parts ?? [],
    rows,
    newIds: new Set(),
    ignoredIds: new Set(unlisted.map(({ id }) => id)),
  };
};

/** The current rows, and the jobs that a new read would add. */
const takeLive = (list: HeldList, live: ReadonlyMap<string, LiveJob>): void => {
  let isChanged = false;
  const rows = list.rows.map((row) => {
    const now = live.get(row.id);
    if (now === undefined || now === row || now.updated_at < row.updated_at) return row;
    isChanged = true;
    return now;
  });
  if (isChanged) list.rows = rows;
  if (!list.isFirstPage || list.newIds.size >= MAX_NEW) return;
  const listed = new Set(rows.map(({ id }) => id));
  const oldest = list.nextCursor === null ? "" : (rows.at(-1)?.created_at ?? "");
  for (const job of live.values()) {
    if (listed.has(job.id) || list.ignoredIds.has(job.id) || job.created_at < oldest) continue;
    const isAbout = list.reason === null || reasonOf(job) === list.reason;
    if (isAbout && matches(job, list.asked)) list.newIds.add(job.id);
    else list.newIds.delete(job.id);
  }
};

interface HeldJobs {
  readonly list: HeldList | null;
  readonly error: Error | null;
  readonly isLoading: boolean;
  /** Reads the list again. */
  readonly show: () => void;
}

export const useHeldJobs = (question: Question): HeldJobs => {
  const name = `${entry.value} ${JSON.stringify(question)}`;
  const known = kept.get(name) ?? null;
  // Grows when the list is to be read again.
  const [shownAgain, setShownAgain] = useState(0);
  const shownBefore = useRef(shownAgain);
  const isWanted = known === null || shownBefore.current !== shownAgain;
  const { data, error, isLoading, reload } = useLoad(isWanted ? `${name} ${shownAgain}` : null, async (signal) => {
    const list = await ask(question, signal);
    keep(name, list);
    shownBefore.current = shownAgain;
    return list;
  });
  // During another query the rows of the previous one stay.
  const list = kept.get(name) ?? data;
  if (list !== null) takeLive(list, liveJobs.value);
  const isOutdated = list?.rows.length === 0 && list.newIds.size > 0;
  const show = () => setShownAgain((before) => before + 1);
  // An empty list may be filled at once, because nothing can move.
  useEffect(() => {
    if (isOutdated) show();
  }, [isOutdated]);
  // Changes during a lost connection were not sent.
  const recovered = recoveries.value;
  const isFirstRun = useRef(true);
  useEffect(() => {
    if (!isFirstRun.current) show();
    isFirstRun.current = false;
  }, [recovered]);
  return { list, error: isWanted ? error : null, isLoading: isWanted && isLoading, show: isWanted ? reload : show };
};
