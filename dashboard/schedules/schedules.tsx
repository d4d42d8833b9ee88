// Schedules, live: when each runs next, and a switch to pause it.

import type { ScheduleResource } from "../../contract/schedule.ts";
import { MAX_PREVIEW } from "../../contract/words/values.ts";
import { api } from "../api.ts";
import { shortened } from "../format.ts";
import { ForOperators } from "../parts/for-operators.tsx";
import { Empty, LoadState, Page } from "../parts/page.tsx";
import { offsetInAddress, PAGE_SIZE, Pager } from "../parts/pager.tsx";
import { ScheduleStatus } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { href } from "../router.ts";
import { schedules as liveSchedules } from "../state/board.ts";
import { useLoad, useThrottled } from "../state/load.ts";
import { ScheduleActions } from "./schedule-actions.tsx";
import { NextDay, ScheduleRecord, SHOWN_RUNS } from "./schedule-record.tsx";
import { timingOf } from "./schedule-timing.ts";

const REREAD_EVERY_MS = 1500;
const PROMPT_CHARS = 120;

const Row = ({ schedule, onDone }: { schedule: ScheduleResource; onDone: () => void }) => (
  <tr>
    <td class="cell-status">
      <ScheduleStatus status={schedule.status} />
    </td>
    <td class="cell-main">
      <a class="row-link" title={schedule.name} href={href(["schedules", schedule.name])}>
        {schedule.name}
      </a>
      <span class="row-note dim" title={shortened(schedule.prompt, PROMPT_CHARS)}>
        {shortened(schedule.prompt, PROMPT_CHARS)}
      </span>
    </td>
    <td class="cell-wide cell-mid cell-timing">
      <code>{timingOf(schedule)}</code>
    </td>
    <td class="num">
      <Time at={schedule.next_run_at} />
    </td>
    <td class="cell-wide">
      <ScheduleRecord schedule={schedule} />
    </td>
    <td class="cell-wide">
      <NextDay schedule={schedule} />
    </td>
    <td class="cell-actions cell-wide">
      <ScheduleActions schedule={schedule} isShort onDone={onDone} />
    </td>
  </tr>
);

const COLUMNS: readonly Column[] = [
  { title: "State" },
  { title: "Schedule" },
  { title: "Runs", class: "cell-wide cell-mid" },
  { title: "Next", class: "num" },
  { title: "Last runs", class: "cell-wide" },
  { title: "Next 24 hours", class: "cell-wide" },
  { title: "Actions", class: "cell-wide", isUnseen: true },
];

const ScheduleTable = ({ rows, onDone }: { rows: readonly ScheduleResource[]; onDone: () => void }) => (
  <Table name="Schedules" columns={COLUMNS}>
    {rows.map((schedule) => (
      <Row key={schedule.name} schedule={schedule} onDone={onDone} />
    ))}
  </Table>
);

export const Schedules = () => {
  const offset = offsetInAddress();
  const changed = useThrottled(liveSchedules.value, REREAD_EVERY_MS);
  const shape = changed?.map(({ name, status, next_run_at }) => name + status + next_run_at).join();
  const { data, error, reload } = useLoad(`${offset} ${shape}`, (signal) =>
    api.schedules.list({ limit: PAGE_SIZE, offset, preview: MAX_PREVIEW, runs: SHOWN_RUNS }, { signal }),
  );
  return (
    <Page
      title="Schedules"
      actions={
        <ForOperators>
          <a class="button primary" href={href(["schedules", "~new"])}>
            New schedule
          </a>
        </ForOperators>
      }
    >
      <LoadState data={data} error={error} retry={reload} what="the schedules" />
      {data !== null && data.schedules.length > 0 && <ScheduleTable rows={data.schedules} onDone={reload} />}
      {data?.total === 0 && (
        <Empty title="Nothing is scheduled.">
          <ForOperators>
            <a href={href(["schedules", "~new"])}>Create a schedule</a> to send a job by the clock: with a cron
            expression in any time zone, or at an interval.
          </ForOperators>
        </Empty>
      )}
      {data !== null && <Pager total={data.total} offset={offset} one="schedule" />}
    </Page>
  );
};
