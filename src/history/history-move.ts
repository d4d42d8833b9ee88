// A tenant's history goes to another database of this deployment: copied page by page, both compared, and only then read
// and written there; then the old rows are deleted. Interrupted at any point, the same steps complete the move.

import { type HistoryMoveStep, PART_CHARS } from "../../contract/move.ts";
import { type HistoryPlace, staleMove } from "../../domain/tenant/tenant-database.ts";
import type { Env } from "../env.ts";
import { Refused } from "../http/refused.ts";
import type { TenantName } from "../tenant/tenant-object.ts";
import { historyOf } from "./databases.ts";
import { isHere, isLatest } from "./is-here.ts";
import { MOVING_HISTORY, readHistoryTable, writeHistoryTable } from "./moving.ts";
import { workOnHistory } from "./store.ts";
import { deleteElsewhere } from "./tenants.ts";

const [FIRST = ""] = MOVING_HISTORY;
/** Of one request: each is a page of a table, or a table that is deleted. */
const STEPS_A_CALL = 100;
const CALL_MS = 2_000;

interface Moving {
  readonly env: Env;
  readonly name: TenantName & { readonly created_at: number };
  place: MovingPlace;
  /** Begins another try after this one; says where the history is if it does not move any more. */
  readonly renew: (move: number) => Promise<HistoryPlace>;
}

type MovingPlace = HistoryPlace & { readonly to: number };

export const isMoving = (place: HistoryPlace): place is MovingPlace => place.to !== null;

export const refuseStale = (): never => {
  throw new Refused(staleMove);
};

/** The next step, from null, the first; null once both databases have the same rows. */
export const copyHistory = async (moving: Moving, from: HistoryMoveStep | null): Promise<HistoryMoveStep | null> => {
  const untilAt = Date.now() + CALL_MS;
  let step: HistoryMoveStep | null = from ?? (await begin(moving));
  for (let steps = 0; step !== null && steps < STEPS_A_CALL && Date.now() < untilAt; steps += 1)
    step = await takeStep(moving, step);
  if (step === null) await seal(moving);
  return step;
};

/** Before the end is reported: from here on, late writes and deletes of this try's other requests change nothing. */
const seal = ({ env, name: { tenant }, place: { to, move } }: Moving): Promise<unknown> =>
  workOnHistory(() =>
    historyOf(env, { tenant, database: to })
      .statement(`UPDATE tenants SET history_move = ?2 WHERE tenant = ?1 AND ${isLatest(move)}`, move + 1)
      .run(),
  );

const takeStep = async (moving: Moving, step: HistoryMoveStep): Promise<HistoryMoveStep | null> => {
  const { env, name, place } = moving;
  const { move, phase, table, after } = step;
  const { tenant } = name;
  const source = historyOf(env, { tenant, database: place.at });
  const target = historyOf(env, { tenant, database: place.to });
  const request = { table, after, maxChars: PART_CHARS };
  const isOfThisTry = move === String(place.move) && MOVING_HISTORY.includes(table);
  const page = isOfThisTry ? await readHistoryTable(source, request) : null;
  if (page === null) return refuseStale();
  const only = ` AND EXISTS (SELECT 1 FROM tenants WHERE tenant = ?1 AND history_move = ${place.move})`;
  if (phase === "copy") await writeHistoryTable(target, table, page, after === null, only);
  else if (JSON.stringify(page) !== JSON.stringify(await readHistoryTable(target, request))) {
    // Something was written late: everything is copied once more.
    const renewed = await moving.renew(place.move);
    if (!isMoving(renewed)) return refuseStale();
    moving.place = renewed;
    return begin(moving);
  }
  if (page.next !== null) return { ...step, after: [...page.next] };
  const next = MOVING_HISTORY[MOVING_HISTORY.indexOf(table) + 1];
  if (next !== undefined) return { ...step, table: next, after: null };
  return phase === "copy" ? { move, phase: "compare", table: FIRST, after: null } : null;
};

/** Retention and syncs leave the tenant alone in both, and what an interrupted try has brought is removed. */
const begin = async ({ env, name, place }: Moving): Promise<HistoryMoveStep> => {
  const { tenant, jurisdiction, created_at: createdAt } = name;
  const { at, to, move } = place;
  const source = historyOf(env, { tenant, database: at });
  const begun = await workOnHistory(() =>
    historyOf(env, { tenant, database: to })
      .statement(
        `INSERT INTO tenants (tenant, jurisdiction, created_at, away, history_move) VALUES (?1, ?2, ?3, 'arriving', ?4)
         ON CONFLICT DO UPDATE SET history_move = ?4 WHERE ${isLatest(move)}`,
        jurisdiction,
        createdAt,
        move,
      )
      .run(),
  );
  if (begun.meta.changes === 0) return refuseStale();
  await workOnHistory(() =>
    source.db.batch([
      source.statement(`UPDATE tenants SET away = 'leaving' WHERE tenant = ?1 AND ${isLatest(move)}`),
      source.statement("UPDATE catalog_subscriptions SET lease_id = NULL, lease_until = NULL WHERE tenant = ?1"),
    ]),
  );
  await deleteElsewhere(env, tenant, at, `NOT ${isHere("?1")} AND ${isLatest(move)}`);
  return { move: String(move), phase: "copy", table: FIRST, after: null };
};
