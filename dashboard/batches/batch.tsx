// One batch: how far it is and how fast, what failed, who did it, its files and its lines.

import { useState } from "preact/hooks";
import type { BatchResource } from "../../contract/batch.ts";
import { api } from "../api.ts";
import { count, plural, usd, withLocalTimes } from "../format.ts";
import { Share } from "../parts/charts/share.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { Fact } from "../parts/fact.tsx";
import { ForOperators } from "../parts/for-operators.tsx";
import { JobTable } from "../parts/job-table.tsx";
import { Empty, LoadState, Page, Panel } from "../parts/page.tsx";
import { StoredFile, StoredFiles } from "../parts/stored-files.tsx";
import { Time } from "../parts/time.tsx";
import { href } from "../router.ts";
import { jobs as liveJobs } from "../state/board.ts";
import { useKeyNames } from "../state/key-names.ts";
import { toLiveJob } from "../state/live-job.ts";
import { useLoad, useRounds } from "../state/load.ts";
import { tell } from "../state/notice.ts";
import { BatchLegend, BatchProgress, percentOf, rateText } from "./batch-progress.tsx";
import { BatchStatus, isUnderWay, mayCancel } from "./batch-status.tsx";

const BACK = { label: "Batches", href: "#/batches" };
const REREAD_EVERY_MS = 2000;
const LINES_SHOWN = 10;
const LISTED_CHARS = 300;

const CancelButton = ({ batch, onDone }: { batch: BatchResource; onDone: () => void }) => {
  const [isOpen, setOpen] = useState(false);
  const cancel = async (): Promise<void> => {
    await api.batches.cancel(batch.id);
    tell("The batch is being cancelled.");
    onDone();
  };
  return (
    <ForOperators>
      {mayCancel(batch) && (
        <button type="button" class="button danger" onClick={() => setOpen(true)}>
          Cancel the batch
        </button>
      )}
      {isOpen && (
        <Confirm
          title="Cancel the batch?"
          action="Cancel the batch"
          isDestructive
          onConfirm={cancel}
          onClose={() => setOpen(false)}
        >
          <p>
            {plural(batch.waiting, "line")} will not run, and {plural(batch.running, "running line")} may end within 60
            seconds. Answers so far are kept in the output file.
          </p>
        </Confirm>
      )}
    </ForOperators>
  );
};

/**
 * While lines run, what the others wait for is no fault. It comes and goes with each read of a fast batch: the line stays,
 * so that the page below does not move.
 */
const Wait = ({ batch: { running, waiting, waiting_reason: reason } }: { batch: BatchResource }) => {
  if (reason !== null) {
    return (
      <p class={`verdict ${running > 0 ? "verdict-calm" : "verdict-caution"}`}>
        {running > 0 ? "The next lines wait" : "Waits"}: {withLocalTimes(reason)}
      </p>
    );
  }
  return running > 0 && waiting > 0 ? <p class="verdict verdict-calm">The next lines are given to workers.</p> : null;
};

/** When it is done, or was. */
const End = ({ batch }: { batch: BatchResource }) => {
  if (batch.ended_at !== null)
    return (
      <Fact name="Ended">
        <Time at={batch.ended_at} />
      </Fact>
    );
  return (
    <Fact name="Should be done">
      {batch.eta === null ? <span class="dim">not known yet</span> : <Time at={batch.eta} />}
    </Fact>
  );
};

const Progress = ({ batch }: { batch: BatchResource }) => (
  <Panel title="Progress" aside={<span class="num">{plural(batch.total, "line")}</span>}>
    <div class="batch-head">
      <p class="figure num">{percentOf(batch)} %</p>
      <dl class="batch-figures">
        {isUnderWay(batch) && <Fact name="Rate">{rateText(batch)} lines a minute</Fact>}
        <End batch={batch} />
        <Fact name="Cost">
          {usd(batch.cost_usd)}
          {batch.unpriced > 0 && <span class="row-note dim">{plural(batch.unpriced, "attempt")} of unknown price</span>}
        </Fact>
      </dl>
    </div>
    <BatchProgress batch={batch} />
    <BatchLegend batch={batch} />
  </Panel>
);

const Errors = ({ batch }: { batch: BatchResource }) => (
  <Panel title="Errors by code">
    {batch.errors.length === 0 ? (
      <Empty title={isUnderWay(batch) ? "None so far." : "None."} />
    ) : (
      <ul class="ranked">
        {batch.errors.map(({ code, count: many }) => (
          <li key={code}>
            <a href={href(["jobs"], { batch: batch.id, error_code: code })}>
              <code>{code}</code>
            </a>
            <span class="num">{count(many)}</span>
          </li>
        ))}
      </ul>
    )}
  </Panel>
);

/** A batch whose file has a fault runs no line. */
const Faults = ({ id }: { id: string }) => {
  const { data, error, reload } = useLoad(id, (signal) => api.batches.faults(id, { signal }));
  return (
    <Panel title="What is wrong with its file" class="panel-stop">
      <LoadState data={data} error={error} retry={reload} what="the faults" />
      <ul class="ranked">
        {data?.map(({ line, code, message }) => (
          <li key={`${line} ${code}`}>
            <span>
              <code>{code}</code>
              <span class="row-note">{message}</span>
            </span>
            {line !== null && <span class="num">line {count(line)}</span>}
          </li>
        ))}
      </ul>
    </Panel>
  );
};

/** As many as one compares at a glance; a large fleet all had a part in it. */
const WORKERS_SHOWN = 10;

const Workers = ({ batch: { workers, completed: done } }: { batch: BatchResource }) => {
  const [isAll, setAll] = useState(false);
  const shown = isAll ? workers : workers.slice(0, WORKERS_SHOWN);
  return (
    <Panel title="Done by">
      {workers.length === 0 && <Empty title="No worker has finished a line." />}
      {workers.length > 0 && (
        <ul class="ranked">
          {shown.map(({ instance, completed }) => (
            <li key={instance}>
              <a href={href(["fleet", instance])}>{instance}</a>
              <span class="num">{plural(completed, "line")}</span>
              <Share part={completed} of={done} />
            </li>
          ))}
        </ul>
      )}
      {shown.length < workers.length && (
        <button type="button" class="button small" onClick={() => setAll(true)}>
          Show {plural(workers.length - shown.length, "more worker")}
        </button>
      )}
    </Panel>
  );
};

const Files = ({ batch }: { batch: BatchResource }) => (
  <Panel title="Files">
    <StoredFiles>
      <StoredFile says="Input" id={batch.input_file} />
      {batch.output_file !== null && <StoredFile says="Output" id={batch.output_file} />}
      {batch.error_file !== null && <StoredFile says="Errors" id={batch.error_file} />}
    </StoredFiles>
    {isUnderWay(batch) && <p class="dim">Its output and error file are written when it ends.</p>}
  </Panel>
);

const Key = ({ id }: { id: string }) => {
  const nameOf = useKeyNames(true);
  return (
    <Fact name="Key">
      <a title={id} href={href(["jobs"], { key: id })}>
        {nameOf(id)}
      </a>
    </Fact>
  );
};

const Facts = ({ batch }: { batch: BatchResource }) => (
  <dl class="facts">
    <Fact name="Endpoint">
      <code>{batch.endpoint}</code>
    </Fact>
    <Fact name="Created">
      <Time at={batch.created_at} as="full" />
    </Fact>
    <Fact name={isUnderWay(batch) ? "Must end by" : "Had to end by"}>
      <Time at={batch.expires_at} as="full" />
    </Fact>
    {batch.key_id !== null && <Key id={batch.key_id} />}
    {Object.entries(batch.metadata ?? {}).map(([name, value]) => (
      <Fact key={name} name={name}>
        {value}
      </Fact>
    ))}
  </dl>
);

const Lines = ({ batch, round }: { batch: BatchResource; round: number }) => {
  const { data, error, reload } = useLoad(`${batch.id} ${round} ${batch.status}`, (signal) =>
    api.jobs.list({ batch: batch.id, limit: LINES_SHOWN, max_chars: LISTED_CHARS }, { signal }),
  );
  const rows = (data?.jobs ?? []).map((job) => liveJobs.value.get(job.id) ?? toLiveJob(job));
  return (
    <Panel title="Newest lines" aside={<a href={href(["jobs"], { batch: batch.id })}>All lines that are jobs</a>}>
      <LoadState data={data} error={error} retry={reload} what="the lines" />
      {data !== null && rows.length === 0 && <Empty title="No line is a job yet." />}
      {rows.length > 0 && <JobTable jobs={rows} name="Newest lines of this batch" />}
    </Panel>
  );
};

const Ready = ({ batch, round, reload }: { batch: BatchResource; round: number; reload: () => void }) => (
  <Page
    title={batch.metadata?.name ?? "Batch"}
    back={BACK}
    lead={
      <>
        <BatchStatus status={batch.status} /> <code class="id">{batch.id}</code>
      </>
    }
    actions={<CancelButton batch={batch} onDone={reload} />}
  >
    <Wait batch={batch} />
    <div class="bands">
      {batch.status === "failed" ? <Faults id={batch.id} /> : <Progress batch={batch} />}
      <div class="split split-wide">
        <div class="stack-panels">
          <Files batch={batch} />
          {batch.status !== "failed" && <Lines batch={batch} round={round} />}
        </div>
        <div class="stack-panels">
          {batch.status !== "failed" && <Errors batch={batch} />}
          {batch.status !== "failed" && <Workers batch={batch} />}
          <Panel title="Facts">
            <Facts batch={batch} />
          </Panel>
        </div>
      </div>
    </div>
  </Page>
);

export const BatchPage = ({ id }: { id: string }) => {
  const [isOpen, setOpen] = useState(true);
  const round = useRounds(REREAD_EVERY_MS, isOpen);
  const { data, error, reload } = useLoad(`${id} ${round}`, async (signal) => {
    const batch = await api.batches.get(id, { signal });
    setOpen(isUnderWay(batch));
    return batch;
  });
  if (data !== null) return <Ready batch={data} round={round} reload={reload} />;
  return (
    <Page title="Batch" back={BACK}>
      <LoadState data={null} error={error} retry={reload} what="the batch" />
    </Page>
  );
};
