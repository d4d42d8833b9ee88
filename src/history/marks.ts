// What an operator did, and what was reached, in a span of time: marks for a time axis, from the audit log. Without the
// names of people, because all who read jobs may see them.

import { MARK_PLACES, type Mark, type MarkList } from "../../contract/activity.ts";
import { toIso } from "../../contract/words/field.ts";
import { readHistory } from "./store.ts";
import type { TenantHistory } from "./tenant-history.ts";

const KINDS: Readonly<Record<string, Mark["kind"]>> = {
  "killswitch.activated": "halt",
  "killswitch.cleared": "clear",
  "worker.paused": "pause",
  "worker.resumed": "resume",
  "config.replaced": "config",
  "budget.reached": "budget",
};

interface MarkRow {
  readonly at: number;
  readonly action: string;
  readonly target: string;
  readonly count: number;
}

/** The target of a changed config is its version, which says nothing to a reader. */
const markOf = ({ at, action, target, count }: MarkRow): Mark[] => {
  const kind = KINDS[action];
  if (kind === undefined) return [];
  return [{ at: toIso(at), kind, count, target: kind === "config" || count > 1 ? null : target }];
};

/** `target` null: of anything. At most as many rows as there are kinds and places. */
export const listMarks = (
  history: TenantHistory,
  { fromAt, toAt, target }: { fromAt: number; toAt: number; target: string | null },
): Promise<MarkList> =>
  readHistory(async () => {
    const { results } = await history
      .statement(
        `SELECT MIN(at) AS at, action, target, COUNT(*) AS count FROM audit
         WHERE tenant = ?1 AND at >= ?2 AND at <= ?3 AND (?4 IS NULL OR target = ?4)
           AND action IN (SELECT value FROM json_each(?5))
         GROUP BY action, CAST((at - ?2) / ?6 AS INTEGER) ORDER BY MIN(at), MIN(id)`,
        fromAt,
        toAt,
        target,
        JSON.stringify(Object.keys(KINDS)),
        Math.ceil((toAt - fromAt) / MARK_PLACES),
      )
      .all<MarkRow>();
    return { from: toIso(fromAt), to: toIso(toAt), marks: results.flatMap(markOf) };
  });
