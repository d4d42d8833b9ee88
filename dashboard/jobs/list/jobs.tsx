// The list of jobs: found by one search line, not moved by new jobs, changed one by one or all at once.

import { useEffect, useState } from "preact/hooks";
import { MAX_OFFSET, MAX_PAGE } from "../../../contract/words/values.ts";
import { count, plural, withLocalTimes } from "../../format.ts";
import { ForOperators } from "../../parts/for-operators.tsx";
import { JobTable } from "../../parts/job-table.tsx";
import { Empty, Loading, Page } from "../../parts/page.tsx";
import { PAGE_SIZE, scrollUp } from "../../parts/pager.tsx";
import { Problem } from "../../parts/problem.tsx";
import { go, href, place } from "../../router.ts";
import type { Beyond } from "../../state/came-from.ts";
import {
  asJobFilter,
  filterIn,
  isOfArchive,
  type Mistyped,
  mistypedField,
  SEARCH_FIELDS,
} from "../../state/job-filter.ts";
import { useSettled } from "../../state/load.ts";
import { mayOperate, whenUserChanges } from "../../state/session.ts";
import { followRowKeys } from "../row-keys.ts";
import { BulkBar } from "./bulk-bar.tsx";
import { type HeldList, type Question, useHeldJobs } from "./held-jobs.ts";
import { JobSearch } from "./job-search.tsx";

const SETTLE_MS = 50;

const questionInAddress = (): Question => {
  const { query } = place.value;
  const offset = Number(query.get("offset") ?? 0);
  const reason = query.get("waits");
  return {
    filter: filterIn(query),
    range: query.get("range"),
    sort: isOfArchive(query) ? null : query.get("sort"),
    limit: reason === null ? PAGE_SIZE : MAX_PAGE,
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
    cursor: query.get("cursor"),
    isArchived: isOfArchive(query),
    reason,
  };
};

/** Cursors of pages that an offset cannot reach. */
const cursors = new Map<string, string>();
whenUserChanges(() => cursors.clear());

const pageName = ({ filter, range, sort, isArchived }: Question, offset: number): string =>
  JSON.stringify([filter, range, sort, isArchived, offset]);

const turnTo = (question: Question, offset: number, cursor: string | null, event: MouseEvent): void => {
  if (cursor !== null) cursors.set(pageName(question, offset), cursor);
  const query = Object.fromEntries(place.peek().query);
  go(href(["jobs"], { ...query, offset: offset === 0 ? null : String(offset), cursor }));
  scrollUp(event);
};

const saysOf = (list: HeldList, { offset, limit, isArchived }: Question): string => {
  const last = offset + list.rows.length;
  if (isArchived) return plural(list.rows.length, "archived job");
  return list.reason !== null
    ? `${count(list.rows.length)} of the ${count(Math.min(limit, list.total))} loaded jobs wait for this`
    : `${count(Math.min(offset + 1, last))}–${count(last)} of ${list.isCapped ? "more than " : ""}${plural(list.total, "job")}`;
};

/** Of the list that is shown: the one that is being read may have other pages. */
const JobsPager = ({ list }: { list: HeldList }) => {
  const question = JSON.parse(list.question) as Question;
  const { offset, limit } = question;
  if (list.total === 0 && offset === 0 && list.nextCursor === null) return null;
  const turnBack = (event: MouseEvent): void => {
    const before = Math.max(0, offset - limit);
    const cursor = before === 0 ? null : (cursors.get(pageName(question, before)) ?? null);
    turnTo(question, cursor === null && before > MAX_OFFSET ? 0 : before, cursor, event);
  };
  return (
    <nav class="pager" aria-label="Pages of jobs">
      <span>{saysOf(list, question)}</span>
      {(offset > 0 || list.nextCursor !== null) && (
        <span class="pager-turn">
          <button type="button" class="button small" disabled={offset === 0} onClick={turnBack}>
            Previous
          </button>
          <button
            type="button"
            class="button small"
            disabled={list.nextCursor === null}
            onClick={(event) => turnTo(question, offset + limit, list.nextCursor, event)}
          >
            Next
          </button>
        </span>
      )}
    </nav>
  );
};

/** After the first one, a number says how bad it is. */
const DamagedParts = ({ parts: [first, ...others] }: { parts: readonly string[] }) =>
  first === undefined ? null : (
    <p class="tone-caution">
      Jobs are missing here: part {first} of the archive
      {others.length > 0 && ` and ${plural(others.length, "other part")}`} cannot be read.
    </p>
  );

interface NoJobsProps {
  readonly isFiltered: boolean;
  /** An answer reads a part of the archive. */
  readonly isCut: boolean;
  readonly reason: string | null;
  readonly mistyped: Mistyped | null;
}

const NoJobs = ({ isFiltered, isCut, reason, mistyped }: NoJobsProps) =>
  reason !== null ? (
    <Empty title="Nothing waits for this any more.">
      <a href="#/jobs?status=pending">All jobs that wait</a>
    </Empty>
  ) : isFiltered ? (
    <Empty title={isCut ? "No job matches in what was read: go on with Next." : "No job matches."}>
      {mistyped !== null && (
        <p class="tone-caution">
          “{mistyped.said}:” is no field, so it was searched as text.
          {mistyped.nearest !== null && ` Did you mean ${mistyped.nearest}:?`} The fields are {SEARCH_FIELDS.join(", ")}
          .
        </p>
      )}
      Remove part of the search, or <a href="#/jobs">show all jobs</a>.
    </Empty>
  ) : (
    <Empty title="No jobs yet.">
      <ForOperators>
        <a href="#/jobs/new">Create the first one</a>, or send it to <code>POST /api/jobs</code> as{" "}
        <a href="/docs">/docs</a> says.
      </ForOperators>
    </Empty>
  );

/** A list by reason is chosen among loaded jobs: it has no further pages. */
const beyondOf = (list: HeldList | null, { offset, limit, sort, isArchived }: Question): { beyond?: Beyond } => {
  if (list === null || list.reason !== null) return {};
  // The archive is read forwards.
  if (isArchived) {
    const query = { ...asJobFilter(list.asked), limit, archived: "true" } as const;
    return { beyond: { query, next: list.nextCursor, offset: 0, total: list.total } };
  }
  const query = { ...asJobFilter(list.asked), limit, sort: (sort ?? undefined) as Beyond["query"]["sort"] };
  return { beyond: { query, next: list.nextCursor, offset, total: list.total } };
};

const NOBODY: ReadonlySet<string> = new Set();

/** The selection belongs to the list that is shown. */
const usePicked = (question: string) => {
  const [picked, setPicked] = useState({ question, ids: NOBODY, isAll: false });
  const ids = picked.question === question ? picked.ids : NOBODY;
  const isAll = picked.question === question && picked.isAll;
  const pick = (chosen: ReadonlySet<string>, all: boolean): void => setPicked({ question, ids: chosen, isAll: all });
  const toggle = (id: string): void => {
    const next = new Set(ids);
    if (!next.delete(id)) next.add(id);
    pick(next, false);
  };
  return { ids, isAll, pick, toggle };
};

export const Jobs = () => {
  const asked = useSettled(JSON.stringify(questionInAddress()), SETTLE_MS);
  const question = JSON.parse(asked) as Question;
  const { list, error, isLoading, show } = useHeldJobs(question);
  const { ids, isAll, pick, toggle } = usePicked(asked);
  useEffect(followRowKeys, []);
  const isFiltered = Object.keys(question.filter).length > 0 || question.range !== null;
  const rows = list?.rows ?? [];
  const maySelect = mayOperate.value && !question.isArchived;
  const selection = { has: (id: string) => isAll || ids.has(id), toggle };
  return (
    <Page
      title="Jobs"
      lead={
        question.isArchived ? (
          "From the archive: these jobs have left history, and can be read but not changed."
        ) : question.reason === null ? undefined : (
          <span class="tone-caution">waiting: {withLocalTimes(question.reason)}</span>
        )
      }
      actions={
        <ForOperators>
          <a class="button primary" href="#/jobs/new">
            New job
          </a>
        </ForOperators>
      }
    >
      <JobSearch />
      <Problem error={error} retry={show} />
      {list === null && error === null && <Loading what="the jobs" />}
      {list !== null && !question.isArchived && (rows.length > 0 || list.newIds.size > 0) && (
        <BulkBar list={list} picked={ids} isAll={isAll} onPick={pick} onShow={show} />
      )}
      <DamagedParts parts={list?.damagedParts ?? []} />
      {rows.length > 0 && (
        <JobTable jobs={rows} name="Jobs" {...beyondOf(list, question)} {...(maySelect ? { selection } : {})} />
      )}
      {list !== null && rows.length === 0 && !isLoading && error === null && (
        <NoJobs
          isFiltered={isFiltered || question.isArchived}
          isCut={question.isArchived && list.nextCursor !== null}
          reason={question.reason}
          mistyped={mistypedField(question.filter.q ?? "")}
        />
      )}
      {list !== null && <JobsPager list={list} />}
    </Page>
  );
};
