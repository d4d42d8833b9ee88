// A webhook's deliveries, newest first, with a button to send one again.

import type { DeliveryResource } from "../../contract/webhook.ts";
import { api } from "../api.ts";
import { plural } from "../format.ts";
import { Empty, LoadState } from "../parts/page.tsx";
import { offsetInAddress, PAGE_SIZE, Pager } from "../parts/pager.tsx";
import { DeliveryStatus } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { useLoad, useRounds } from "../state/load.ts";
import { attempt } from "../state/notice.ts";

/** What the endpoint answered to the last try, or why there was no answer. */
export const answerOf = ({ response_status, error }: DeliveryResource): string =>
  [response_status === null ? null : `status ${response_status}`, error].filter((part) => part !== null).join(": ");

const Row = ({ delivery, onDone }: { delivery: DeliveryResource; onDone: () => void }) => (
  <tr>
    <td class="cell-status">
      <DeliveryStatus status={delivery.status} />
    </td>
    <td>
      <span>{delivery.event}</span>
      <span class="row-note dim">
        <span class="narrow-only">
          <Time at={delivery.at} />{" "}
        </span>
        {answerOf(delivery)}
      </span>
    </td>
    <td class="num cell-wide">
      {plural(delivery.attempts, "try", "tries")}
      {delivery.next_attempt_at !== null && (
        <span class="row-note dim">
          next <Time at={delivery.next_attempt_at} />
        </span>
      )}
    </td>
    <td class="num cell-roomy">
      <Time at={delivery.at} />
    </td>
    <td class="cell-actions">
      <button
        type="button"
        class="button small"
        aria-label={`Redeliver ${delivery.event} ${delivery.id}`}
        onClick={async () => {
          await attempt(`redeliver ${delivery.id}`, () => api.webhooks.redeliver(delivery.id), "It is sent again.");
          onDone();
        }}
      >
        Redeliver
      </button>
    </td>
  </tr>
);

/** No message tells how a delivery ended. */
export const LOOK_MS = 5000;

const COLUMNS: readonly Column[] = [
  { title: "State" },
  { title: "Event" },
  { title: "Tries", class: "num cell-wide" },
  { title: "At", class: "num cell-roomy" },
  { title: "Actions", isUnseen: true },
];

export const Deliveries = ({ id, version }: { id: string; version: number }) => {
  const offset = offsetInAddress();
  const round = useRounds(LOOK_MS);
  const { data, error, reload } = useLoad(`${id} ${offset} ${version} ${round}`, (signal) =>
    api.webhooks.deliveries(id, { limit: PAGE_SIZE, offset }, { signal }),
  );
  if (data === null || error !== null)
    return <LoadState data={data} error={error} retry={reload} what="the deliveries" />;
  if (data.total === 0) return <Empty title="Nothing was sent yet.">Test it to see how the endpoint answers.</Empty>;
  return (
    <>
      <p class="actions copy-row">
        <button type="button" class="button small" onClick={reload}>
          Read again
        </button>
      </p>
      <Table name="Deliveries, newest first" columns={COLUMNS}>
        {data.deliveries.map((delivery) => (
          <Row key={delivery.id} delivery={delivery} onDone={reload} />
        ))}
      </Table>
      <Pager total={data.total} offset={offset} one="delivery" many="deliveries" />
    </>
  );
};
