// A tenant's history goes to another of the service's databases, with the root key: the same request, with `next` of the
// answer before, until that is null. Each may be repeated, and a move that was interrupted begins with the first again.

import { historyMoveAnswer, historyMoveRequest } from "../../../contract/move.ts";
import { tenantParam } from "../../../contract/tenant.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { copyHistory, isMoving, refuseStale } from "../../history/history-move.ts";
import { settleHistory } from "../../history/tenants.ts";
import { answer } from "../../http/answer.ts";
import { unwrap } from "../../http/refused.ts";
import { askObject } from "../../tenant/tenant-object.ts";
import { foundTenant, refuseUnbound } from "./found-tenant.ts";

const BASE = {
  tag: "Tenants",
  needs: "root",
  path: "/admin/tenants/{tenant}/database",
  params: tenantParam,
  refuses: ["not_found", "history_unavailable"],
} as const;

const move = endpoint(
  {
    ...BASE,
    method: "post",
    operationId: "moveHistory",
    summary: "Move a tenant's history to another database",
    description:
      "The tenant works on; until its history is there, what reads history is 503 `history_unavailable`. `DELETE` cancels the move until then.",
    body: historyMoveRequest,
    answers: { 200: { description: "What to do next.", schema: historyMoveAnswer } },
  },
  async (c, { params, body: { database: to, next } }) => {
    refuseUnbound(c, to);
    const name = await foundTenant(c, params.tenant);
    const say = async (step: Parameters<typeof askObject<"moveHistory">>[3]) =>
      unwrap(await askObject(c.env, name, "moveHistory", step));
    let place = await say({ step: "begin", to, isNew: next == null });
    if (isMoving(place)) {
      const moving = { env: c.env, name, place, renew: (move: number) => say({ step: "renew", to, move }) };
      const step = await copyHistory(moving, next ?? null);
      if (step !== null) return answer(c, { tenant: name.tenant, state: "moving", next: step });
      place = await say({ step: "end", to, move: moving.place.move });
    }
    if (place.to !== null || place.at !== to) return refuseStale();
    await settleHistory(c.env, name.tenant, place);
    return answer(c, { tenant: name.tenant, state: "moved", next: null });
  },
);

const cancel = endpoint(
  {
    ...BASE,
    method: "delete",
    operationId: "cancelHistoryMove",
    summary: "Cancel the move of a tenant's history",
    answers: { 204: { description: "The history is in the database where it was." } },
  },
  async (c, { params }) => {
    const name = await foundTenant(c, params.tenant);
    await settleHistory(c.env, name.tenant, unwrap(await askObject(c.env, name, "moveHistory", { step: "cancel" })));
    return c.body(null, 204);
  },
);

export const historyMoveRoutes: readonly Endpoint[] = [move, cancel];
