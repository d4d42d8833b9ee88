// Jobs, newest first, live. The list comes from the API; what arrives over the socket replaces rows and, on the first
// page, is put on top. At a thousand jobs a second the page still holds fifty rows and asks for its total now and then.

import type { LiveJob } from "../../contract/live.ts";
import { JOB_STATUSES } from "../../contract/values.ts";
import { api } from "../api.ts";
import { SelectField, TextField } from "../parts/form.tsx";
import { JobTable, toRow } from "../parts/job-table.tsx";
import { Empty, Loading, Page } from "../parts/page.tsx";
import { offsetInAddress, PAGE_SIZE, Pager } from "../parts/pager.tsx";
import { Problem } from "../parts/problem.tsx";
import { place, refine } from "../router.ts";
import { counts, jobs as liveJobs, workers } from "../state/board.ts";
import { useLoad, useSettled, useThrottled } from "../state/load.ts";

const REREAD_EVERY_MS = 4000;
const TYPING_MS = 300;
const FILTERS = ["status", "provider", "tag", "worker", "schedule"] as const;

type Filters = Partial<Record<(typeof FILTERS)[number], string>>;

const filtersInAddress = (): Filters => {
  const { query } = place.value;
  return Object.fromEntries(FILTERS.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])));
};

const matches = (job: LiveJob, filters: Filters): boolean =>
  (filters.status === undefined || job.status === filters.status) &&
  (filters.provider === undefined || job.provider === filters.provider) &&
  (filters.worker === undefined || job.assigned_worker === filters.worker) &&
  (filters.schedule === undefined || job.schedule === filters.schedule) &&
  (filters.tag === undefined || job.tags.includes(filters.tag));

/** The listed rows as they are now; on the first page with those that came since. */
export const mergeRows = (
  listed: readonly LiveJob[],
  live: ReadonlyMap<string, LiveJob>,
  filters: Filters,
  isFirstPage: boolean,
): LiveJob[] => {
  const rows = new Map(listed.map((job) => [job.id, job]));
  const oldest = listed.length < PAGE_SIZE ? "" : (listed.at(-1)?.created_at ?? "");
  for (const job of live.values()) {
    const known = rows.get(job.id);
    if (known !== undefined ? known.updated_at <= job.updated_at : isFirstPage && job.created_at >= oldest)
      rows.set(job.id, job);
  }
  return [...rows.values()]
    .filter((job) => matches(job, filters))
    .sort((one, other) => (one.created_at < other.created_at ? 1 : one.created_at > other.created_at ? -1 : 0))
    .slice(0, PAGE_SIZE);
};

const FilterBar = ({ filters }: { filters: Filters }) => {
  const providers = [...new Set([...workers.value.values()].map(({ provider }) => provider))].sort();
  const set = (name: string) => (value: string) => refine({ [name]: value.trim() || null, offset: null });
  return (
    <search class="filters">
      <SelectField
        label="State"
        value={filters.status ?? ""}
        onInput={set("status")}
        options={[["", "all"], ...JOB_STATUSES.map((status) => [status, status] as const)]}
      />
      <TextField label="Provider" value={filters.provider ?? ""} onInput={set("provider")} suggestions={providers} />
      <TextField label="Tag" value={filters.tag ?? ""} onInput={set("tag")} />
      <TextField
        label="Worker"
        value={filters.worker ?? ""}
        onInput={set("worker")}
        suggestions={[...workers.value.keys()]}
      />
      <TextField label="Schedule" value={filters.schedule ?? ""} onInput={set("schedule")} />
      {Object.keys(filters).length > 0 && (
        <button
          type="button"
          class="button small"
          onClick={() => refine(Object.fromEntries([...FILTERS, "offset"].map((name) => [name, null])))}
        >
          Show all
        </button>
      )}
    </search>
  );
};

const NoJobs = ({ isFiltered }: { isFiltered: boolean }) =>
  isFiltered ? (
    <Empty title="No job matches these filters.">Take one away, or show all.</Empty>
  ) : (
    <Empty title="No jobs yet.">
      <a href="#/jobs/new">Create the first one</a>, or send it to <code>POST /api/jobs</code> as{" "}
      <a href="/docs">/docs</a> says.
    </Empty>
  );

export const Jobs = () => {
  const filters = filtersInAddress();
  const asked = useSettled(JSON.stringify(filters), TYPING_MS);
  const offset = offsetInAddress();
  const activity = useThrottled(JSON.stringify(counts.value), REREAD_EVERY_MS);
  const { data, error, reload } = useLoad(`${asked} ${offset} ${activity}`, (signal) =>
    api.jobs.list({ ...JSON.parse(asked), limit: PAGE_SIZE, offset }, { signal }),
  );
  const rows = mergeRows(data?.jobs.map(toRow) ?? [], liveJobs.value, filters, offset === 0);
  return (
    <Page
      title="Jobs"
      actions={
        <a class="button primary" href="#/jobs/new">
          New job
        </a>
      }
    >
      <FilterBar filters={filters} />
      <Problem error={error} retry={reload} />
      {rows.length > 0 ? (
        <JobTable jobs={rows} name="Jobs, newest first" />
      ) : data === null && error === null ? (
        <Loading what="the jobs" />
      ) : (
        error === null && <NoJobs isFiltered={Object.keys(filters).length > 0} />
      )}
      {data !== null && <Pager total={Math.max(data.total, rows.length)} offset={offset} what="jobs" />}
    </Page>
  );
};
