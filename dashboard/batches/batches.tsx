// The batches, newest first: how far each is, how fast, and when it should be done.

import { useState } from "preact/hooks";
import type { BatchResource } from "../../contract/batch.ts";
import { api } from "../api.ts";
import { count, usd, withLocalTimes } from "../format.ts";
import { Empty, LoadState, Page } from "../parts/page.tsx";
import { offsetInAddress, PAGE_SIZE, Pager } from "../parts/pager.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { href } from "../router.ts";
import { useLoad, useRounds } from "../state/load.ts";
import { mayOperate } from "../state/session.ts";
import { BatchProgress, percentOf, rateText } from "./batch-progress.tsx";
import { BatchStatus, isUnderWay } from "./batch-status.tsx";

/** While a batch is under way, and while none is. */
const REREAD_EVERY_MS = { busy: 3000, idle: 20_000 };

const COLUMNS: readonly Column[] = [
  { title: "State" },
  { title: "Batch" },
  { title: "Progress" },
  { title: "Lines a minute", class: "num cell-wide" },
  { title: "Done", class: "num cell-wide" },
  { title: "Errors", class: "num cell-wide cell-mid" },
  { title: "Cost", class: "num cell-wide cell-mid" },
  { title: "Created", class: "num cell-when cell-wide" },
];

const errorsOf = ({ errors }: BatchResource): number => errors.reduce((sum, { count: many }) => sum + many, 0);

const Note = ({ batch }: { batch: BatchResource }) => {
  if (batch.waiting_reason === null || batch.running > 0) return <span class="row-note dim">{batch.endpoint}</span>;
  const reason = withLocalTimes(batch.waiting_reason);
  return (
    <span class="row-note tone-caution" title={reason}>
      waits: {reason}
    </span>
  );
};

const Row = ({ batch }: { batch: BatchResource }) => (
  <tr>
    <td class="cell-status">
      <BatchStatus status={batch.status} />
    </td>
    <td class="cell-main">
      <a class="row-link" title={batch.metadata?.name ?? batch.id} href={href(["batches", batch.id])}>
        {batch.metadata?.name ?? batch.id}
      </a>
      <Note batch={batch} />
    </td>
    <td class="cell-progress">
      <BatchProgress batch={batch} />
      <span class="row-note num dim">
        {batch.total === 0 ? "no lines" : `${percentOf(batch)} % of ${count(batch.total)}`}
      </span>
    </td>
    <td class="num cell-wide">{isUnderWay(batch) ? rateText(batch) : <span class="dim">–</span>}</td>
    <td class="num cell-wide">
      <Time at={batch.ended_at ?? batch.eta} />
    </td>
    <td class={`num cell-wide cell-mid${errorsOf(batch) > 0 ? " tone-stop" : ""}`}>{count(errorsOf(batch))}</td>
    <td class="num cell-wide cell-mid">{usd(batch.cost_usd)}</td>
    <td class="num cell-when cell-wide">
      <Time at={batch.created_at} />
    </td>
  </tr>
);

const NoBatches = () => (
  <Empty title="No batches yet.">
    {mayOperate.value && (
      <>
        <p>
          A batch is a file of requests that the fleet does when it has room. Send one with{" "}
          <code>signalbox batch run requests.jsonl</code>, or with OpenAI's or Anthropic's client.
        </p>
        <p>
          <a href="/docs/batches">The API of batches</a>
        </p>
      </>
    )}
  </Empty>
);

export const Batches = () => {
  const offset = offsetInAddress();
  const [isBusy, setBusy] = useState(true);
  const round = useRounds(isBusy ? REREAD_EVERY_MS.busy : REREAD_EVERY_MS.idle);
  const { data, error, reload } = useLoad(`${offset} ${round}`, async (signal) => {
    const page = await api.batches.list({ limit: PAGE_SIZE, offset }, { signal });
    setBusy(page.batches.some(isUnderWay));
    return page;
  });
  return (
    <Page title="Batches">
      <LoadState data={data} error={error} retry={reload} what="the batches" />
      {data !== null && data.batches.length > 0 && (
        <Table name="Batches" columns={COLUMNS} class="batches-table">
          {data.batches.map((batch) => (
            <Row key={batch.id} batch={batch} />
          ))}
        </Table>
      )}
      {data?.total === 0 && <NoBatches />}
      {data !== null && <Pager total={data.total} offset={offset} one="batch" many="batches" />}
    </Page>
  );
};
