// What waits, by reason: how many jobs, since when, and a link to exactly those.

import { count, plural, withLocalTimes } from "../format.ts";
import { Empty } from "../parts/page.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { href } from "../router.ts";
import { queue } from "../state/board.ts";
import { asked, type QueueGroup, type Wait, waits } from "../state/waiting.ts";

const MAX_REASONS = 8;
const MAX_NAMED = 3;

const sameIn = <Value,>(groups: readonly QueueGroup[], of: (group: QueueGroup) => Value | null): Value | null => {
  const [first, ...others] = groups.map(of);
  return first !== undefined && others.every((one) => one === first) ? first : null;
};

/** Common requirements narrow the list; the reason does the rest. */
const waitHref = ({ reason, groups }: Wait): string =>
  href(["jobs"], {
    status: "pending",
    provider: sameIn(groups, ({ provider }) => provider),
    model: sameIn(groups, ({ model }) => model),
    tag: groups[0]?.tags.find((tag) => groups.every(({ tags }) => tags.includes(tag))) ?? null,
    waits: reason,
  });

/** For the title: what the jobs of a reason ask for. */
const asks = (groups: readonly QueueGroup[]): string => {
  const all = [...new Set(groups.map(asked))];
  const more = all.length > MAX_NAMED ? [`and ${count(all.length - MAX_NAMED)} more`] : [];
  return [...all.slice(0, MAX_NAMED), ...more].join("\n");
};

const COLUMNS: readonly Column[] = [
  { title: "Jobs", class: "num" },
  { title: "Waiting for" },
  { title: "Oldest", class: "num cell-when" },
];

export const WaitingList = () => {
  const { total = 0, delayed = 0, groups_total: groups = 0 } = queue.value ?? {};
  const all = waits.value;
  const later = delayed > 0 && (
    <p class="dim">
      {plural(delayed, "job")} {delayed === 1 ? "is" : "are"} for later: after a back-off, or at{" "}
      {delayed === 1 ? "a time of its own" : "times of their own"}.
    </p>
  );
  if (all.length === 0)
    return (
      <>
        <Empty title="Nothing waits." />
        {later}
      </>
    );
  return (
    <>
      <Table name={`${count(total)} jobs that wait, by reason`} columns={COLUMNS} class="waits">
        {all.slice(0, MAX_REASONS).map((wait) => (
          <tr key={wait.reason}>
            <td class="num">{count(wait.count)}</td>
            <td class="cell-reason">
              <a href={waitHref(wait)} title={asks(wait.groups)}>
                {withLocalTimes(wait.reason)}
              </a>
            </td>
            <td class="num cell-when">
              <Time at={wait.oldestAt} />
            </td>
          </tr>
        ))}
      </Table>
      {(all.length > MAX_REASONS || groups > (queue.value?.groups.length ?? 0)) && (
        <p>
          <a href="#/jobs?status=pending&sort=-created_at">All {plural(total, "job")} that wait</a>
        </p>
      )}
      {later}
    </>
  );
};
