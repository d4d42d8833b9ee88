// Jobs as rows: prompt, worker, status. On a phone a row shows only the main fields. A row keeps its height when its
// job changes, so that click targets do not move.

import type { LiveJob } from "../../contract/live.ts";
import { startOf } from "../../contract/text/start-of.ts";
import { duration, trimmed, usd, withLocalTimes } from "../format.ts";
import { href } from "../router.ts";
import { isOpen } from "../state/board.ts";
import { type Beyond, openedFrom } from "../state/came-from.ts";
import { now } from "../state/clock.ts";
import { reasonOf } from "../state/waiting.ts";
import { JobStatus } from "./status.tsx";
import { type Column, Table } from "./table.tsx";
import { Tags } from "./tags.tsx";
import { Time } from "./time.tsx";

const NOTE_CHARS = 300;
const NOTHING = "\u00a0";

type Timed = Pick<LiveJob, "status" | "created_at" | "assigned_at" | "started_at" | "finished_at">;

export const Took = ({ job }: { job: Timed }) => {
  if (job.status === "pending") return <>waits {duration(Math.max(0, now.value - Date.parse(job.created_at)))}</>;
  const from = Date.parse(job.started_at ?? job.assigned_at ?? job.created_at);
  const to = job.finished_at === null ? now.value : Date.parse(job.finished_at);
  return <>{duration(Math.max(0, to - from))}</>;
};

const Note = ({ job }: { job: LiveJob }) => {
  const reason = reasonOf(job);
  if (job.error !== null && (job.status === "failed" || (job.status === "pending" && reason === null))) {
    const says = startOf([job.error.code, job.error.message].filter(Boolean).join(": "), NOTE_CHARS);
    return (
      <span class="row-note tone-stop" title={says}>
        {says}
      </span>
    );
  }
  if (reason !== null) {
    const says = startOf(withLocalTimes(reason), NOTE_CHARS);
    return (
      <span class="row-note tone-caution" title={says}>
        waits: {says}
      </span>
    );
  }
  return <span class="row-note">{NOTHING}</span>;
};

interface Selection {
  readonly has: (id: string) => boolean;
  readonly toggle: (id: string) => void;
}

const CheckCell = ({ job, selection }: { job: LiveJob; selection: Selection }) => (
  <td class="cell-check">
    <label>
      <input
        type="checkbox"
        aria-label={`Select: ${trimmed(job.prompt_start) || job.id}`}
        checked={selection.has(job.id)}
        onChange={() => selection.toggle(job.id)}
      />
    </label>
  </td>
);

interface RowProps {
  readonly job: LiveJob;
  readonly selection: Selection | undefined;
  readonly onOpen: () => void;
}

const Row = ({ job, selection, onOpen }: RowProps) => (
  <tr data-job={job.id} class={selection?.has(job.id) ? "row-selected" : undefined}>
    {selection !== undefined && <CheckCell job={job} selection={selection} />}
    <td class="cell-status">
      <JobStatus status={job.status} />
    </td>
    <td class="cell-main">
      <a class="row-link" title={job.prompt_start} href={href(["jobs", job.id])} onClick={onOpen}>
        {trimmed(job.prompt_start) || "(blank prompt)"}
      </a>
      <Note job={job} />
    </td>
    <td class="cell-wide cell-asks">
      <span class="stack">
        {job.provider === null ? (
          <span class="dim">any provider</span>
        ) : (
          <span title={job.provider}>{job.provider}</span>
        )}
        {job.model !== null && (
          <span class="row-note dim" title={job.model}>
            {job.model}
          </span>
        )}
        <Tags tags={job.tags} max={4} />
      </span>
    </td>
    <td class="cell-wide">{job.priority === "normal" ? <span class="dim">normal</span> : job.priority}</td>
    <td class="cell-wide cell-short">
      {job.assigned_worker === null ? (
        <span class="dim">–</span>
      ) : (
        <a title={job.assigned_worker} href={href(["fleet", job.assigned_worker])}>
          {job.assigned_worker}
        </a>
      )}
    </td>
    <td class="num cell-wide cell-mid">{isOpen(job.status) || job.finished_at !== null ? <Took job={job} /> : "–"}</td>
    <td class="num cell-wide">{job.cost_usd === null ? <span class="dim">–</span> : usd(job.cost_usd)}</td>
    <td class="num cell-when cell-roomy">
      <Time at={job.created_at} />
    </td>
  </tr>
);

const COLUMNS: readonly Column[] = [
  { title: "State" },
  { title: "Prompt" },
  { title: "Asks for", class: "cell-wide" },
  { title: "Priority", class: "cell-wide" },
  { title: "Worker", class: "cell-wide" },
  { title: "Took", class: "num cell-wide cell-mid" },
  { title: "Cost", class: "num cell-wide" },
  { title: "Created", class: "num cell-when cell-roomy" },
];

const CHECK_COLUMN: Column = { title: "Selected", class: "cell-check", isUnseen: true };

interface JobTableProps {
  jobs: readonly LiveJob[];
  name: string;
  selection?: Selection;
  /** Of a list of several pages: how its other jobs are read. */
  beyond?: Beyond;
}

export const JobTable = ({ jobs, name, selection, beyond }: JobTableProps) => {
  const remember = (): void =>
    openedFrom(
      jobs.map(({ id }) => id),
      beyond ?? null,
    );
  return (
    <Table name={name} columns={selection === undefined ? COLUMNS : [CHECK_COLUMN, ...COLUMNS]} class="jobs-table">
      {jobs.map((job) => (
        <Row key={job.id} job={job} selection={selection} onOpen={remember} />
      ))}
    </Table>
  );
};
