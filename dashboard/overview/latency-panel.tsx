// How long jobs wait and run, by what ran them, over the chosen span.

import { useState } from "preact/hooks";
import type { LatencyAnswer } from "../../contract/latency.ts";
import { api } from "../api.ts";
import { count, duration } from "../format.ts";
import { Choice } from "../parts/form.tsx";
import { Empty, Loading, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { counts } from "../state/board.ts";
import { useLoad, useThrottled } from "../state/load.ts";
import { lastOf, span } from "../state/span.ts";
import { LATENCY_BY } from "./figures.ts";

type Row = LatencyAnswer["rows"][number];
type Quantiles = Row["run_ms"];

const REREAD_EVERY_MS = 15_000;
const MAX_SHOWN = 8;

const BY = [
  ["model", "model"],
  ["provider", "provider"],
  ["worker", "worker"],
  ["tag", "tag"],
] as const;

const COLUMNS: readonly Column[] = [
  { title: "Ran on" },
  { title: "Completed", class: "num" },
  { title: "Wait", class: "num" },
  { title: "First token", class: "num cell-wide" },
  { title: "Run", class: "num" },
  { title: "Tokens a second", class: "num cell-wide" },
];

/** The median, and what 5 of 100 are beyond. */
const Figures = ({ of, as }: { of: Quantiles; as: (value: number) => string }) =>
  of.p50 === null || of.p95 === null ? (
    <span class="dim">–</span>
  ) : (
    <span class="stack">
      <span>{as(of.p50)}</span>
      <span class="dim">{as(of.p95)}</span>
    </span>
  );

/** A slow model makes less than one. */
export const speed = (tokens: number): string =>
  count(tokens < 10 ? Number(tokens.toPrecision(2)) : Math.round(tokens));

const LatencyRow = ({ name, row }: { name: string; row: Omit<Row, "value"> }) => (
  <tr>
    <td class="cell-name">{name}</td>
    <td class="num">{count(row.jobs)}</td>
    <td class="num">
      <Figures of={row.queue_wait_ms} as={duration} />
    </td>
    <td class="num cell-wide">
      <Figures of={row.first_token_ms} as={duration} />
    </td>
    <td class="num">
      <Figures of={row.run_ms} as={duration} />
    </td>
    <td class="num cell-wide">
      <Figures of={row.tokens_per_second} as={speed} />
    </td>
  </tr>
);

/** `latency` is that of the page's figures, by `LATENCY_BY`. */
export const LatencyPanel = ({ latency }: { latency: LatencyAnswer | null }) => {
  const [by, setBy] = useState<(typeof BY)[number][0]>(LATENCY_BY);
  const period = span.value;
  const completed = useThrottled(counts.value.completed ?? 0, REREAD_EVERY_MS);
  const isOther = by !== LATENCY_BY;
  const other = useLoad(isOther ? `latency ${by} ${period} ${completed}` : null, (signal) =>
    api.jobs.latency({ by, period }, { signal }),
  );
  const data = isOther ? other.data : latency;
  const error = isOther ? other.error : null;
  return (
    <Panel title={`How long jobs wait and run, ${lastOf(period)}`} class="span-all">
      <div class="row">
        <Choice label="By" value={by} options={BY} onInput={setBy} />
      </div>
      {error !== null && <Problem error={error} retry={other.reload} />}
      {error === null && data === null && <Loading what="latency" />}
      {data !== null && data.total.jobs === 0 && <Empty title="No job was completed in this period." />}
      {data !== null && data.total.jobs > 0 && (
        <>
          <p class="dim">The median of completed attempts, and below it what 95 of 100 stay within.</p>
          <Table name={`How long jobs wait and run, by ${by}`} columns={COLUMNS}>
            {data.rows.slice(0, MAX_SHOWN).map(({ value, ...row }) => (
              <LatencyRow key={value} name={value || "not named"} row={row} />
            ))}
            <LatencyRow name="All" row={data.total} />
          </Table>
        </>
      )}
    </Panel>
  );
};
