// What fails, by error and provider, compared with the span before; with links to the jobs and a retry.

import { useState } from "preact/hooks";
import type { FailureList } from "../../contract/jobs/insight.ts";
import { startOf } from "../../contract/text/start-of.ts";
import { api } from "../api.ts";
import { count } from "../format.ts";
import { BulkDialog } from "../parts/bulk-dialog.tsx";
import { ForOperators } from "../parts/for-operators.tsx";
import { Empty, LoadState } from "../parts/page.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { href } from "../router.ts";
import { counts } from "../state/board.ts";
import { serverNow } from "../state/clock.ts";
import type { Filter } from "../state/job-filter.ts";
import { useLoad, useThrottled } from "../state/load.ts";
import { lastOf, span, spanMs } from "../state/span.ts";

type Failure = FailureList["failures"][number];

const REREAD_EVERY_MS = 5000;
const MAX_SHOWN = 8;
const MESSAGE_CHARS = 200;

const filterOf = ({ code, provider, model }: Failure): Filter => ({
  status: "failed",
  error_code: code,
  ...(provider === null ? {} : { ran_provider: provider }),
  ...(model === null ? {} : { model }),
});

const Trend = ({ failure: { count: now, previous_count: before } }: { failure: Failure }) =>
  before === 0 ? (
    <span class="tone-stop">new</span>
  ) : (
    <span class={now > before ? "tone-stop" : "dim"}>
      {now > before ? "up from" : now < before ? "down from" : "as before,"} {count(before)}
    </span>
  );

const COLUMNS: readonly Column[] = [
  { title: "Failed", class: "num" },
  { title: "Error" },
  { title: "Ran on", class: "cell-roomy" },
  { title: "Before", class: "cell-roomy" },
  { title: "Actions", class: "cell-actions", isUnseen: true },
];

interface RowProps {
  readonly failure: Failure;
  readonly by: string;
  readonly onRetry: () => void;
}

/** What can be done: a batch's line and a client's request have their answer, and are not tried again. */
const Action = ({ failure: { code, batch, retryable }, by, onRetry }: RowProps) =>
  retryable ? (
    <ForOperators>
      <button type="button" class="button small" onClick={onRetry} aria-label={`Retry these: ${code}, ${by}`}>
        Retry these
      </button>
    </ForOperators>
  ) : batch !== null ? (
    <a class="button small" href={href(["batches", batch])} aria-label={`Open the batch: ${code}, ${by}`}>
      Open batch
    </a>
  ) : (
    <span class="dim" title="Its client has the error. Such a request is not tried again.">
      client told
    </span>
  );

const Row = ({ failure, onRetry }: { failure: Failure; onRetry: () => void }) => {
  const by = [failure.provider ?? "nobody", failure.model].filter(Boolean).join(" · ");
  const message = startOf(failure.message, MESSAGE_CHARS);
  return (
    <tr>
      <td class="num tone-stop">{count(failure.count)}</td>
      <td class="cell-reason">
        <a href={href(["jobs"], { ...filterOf(failure), sort: "finished_at" })}>{failure.code || "no code"}</a>{" "}
        <span class="dim">
          <span class="narrow-only">{by} · </span>
          <Time at={failure.last_at} />
        </span>
        <a class="row-note failure-message" title={message} href={href(["jobs", failure.job_id])}>
          {message}
        </a>
      </td>
      <td class="cell-roomy cell-ran">
        <span class="stack">
          <span title={failure.provider ?? undefined}>{failure.provider ?? "nobody"}</span>
          <span class="dim" title={failure.model ?? undefined}>
            {failure.model}
          </span>
        </span>
      </td>
      <td class="cell-roomy">
        <Trend failure={failure} />
      </td>
      <td class="cell-actions">
        <Action failure={failure} by={by} onRetry={onRetry} />
      </td>
    </tr>
  );
};

export const FailingList = () => {
  const failed = useThrottled(counts.value.failed ?? 0, REREAD_EVERY_MS);
  const period = span.value;
  const { data, error, reload } = useLoad(`failures ${period} ${failed}`, (signal) =>
    api.jobs.failures({ since: new Date(serverNow() - spanMs(period)).toISOString() }, { signal }),
  );
  const [retried, setRetried] = useState<{ filter: Filter } | null>(null);
  if (data === null || error !== null) return <LoadState data={data} error={error} retry={reload} what="what failed" />;
  const { failures, since, until } = data;
  if (failures.length === 0) return <Empty title={`Nothing failed in the ${lastOf(period)}.`} />;
  const retry = (failure: Failure): void => setRetried({ filter: { ...filterOf(failure), since, until } });
  return (
    <>
      <Table name={`What failed in the ${lastOf(period)}, by error and provider`} columns={COLUMNS} class="failing">
        {failures.slice(0, MAX_SHOWN).map((failure) => (
          <Row
            key={JSON.stringify([failure.code, failure.provider, failure.model])}
            failure={failure}
            onRetry={() => retry(failure)}
          />
        ))}
      </Table>
      {failures.length > MAX_SHOWN && (
        <p>
          <a href="#/jobs?status=failed&sort=finished_at">and {count(failures.length - MAX_SHOWN)} more kinds</a>
        </p>
      )}
      {retried !== null && (
        <BulkDialog
          action="retry"
          filter={retried.filter}
          mayReachBack
          onDone={reload}
          onClose={() => setRetried(null)}
        />
      )}
    </>
  );
};
