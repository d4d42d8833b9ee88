// A tenant's move to another deployment, with the root key. The command `signalbox move` calls these steps: leave the
// old one, copy the rows, arrive at the new one.

import { toIso } from "../../contract/field.ts";
import {
  arrivalRequest,
  MAX_PART_BYTES,
  moveAnswer,
  moveRequest,
  movingTenant,
  PART_CHARS,
  rowsPart,
  rowsQuery,
} from "../../contract/move.ts";
import { tenantParam } from "../../contract/tenant.ts";
import { refusalOf } from "../../contract/validation.ts";
import { VERSION } from "../../contract/version.ts";
import { invalid } from "../../domain/refusal.ts";
import { MOVING_HISTORY, readHistoryTable, writeHistoryTable } from "../history/moving.ts";
import { claimTenantName, createdAtOf, findTenant } from "../history/tenants.ts";
import { answer } from "../http/answer.ts";
import { readJson } from "../http/body.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { type Endpoint, endpoint } from "../http/router.ts";
import {
  leaveTenant,
  makeRoom,
  readTenantTable,
  settleTenant,
  stayTenant,
  writeTenantTable,
} from "../http/tenant-administration.ts";
import { foundTenant } from "./found-tenant.ts";

const BASE = { tag: "Tenants", needs: "root", params: tenantParam } as const;
const MOVE = { ...BASE, path: "/admin/tenants/{tenant}/move" } as const;
const ROWS = { ...BASE, path: "/admin/tenants/{tenant}/rows" } as const;

/** The object validates the names of its own tables. */
const refuseUnknown = (place: "object" | "history", table: string): void => {
  if (place === "history" && !MOVING_HISTORY.includes(table))
    throw new Refused(invalid("table", "is not a table that moves"));
};

const begin = endpoint(
  {
    ...MOVE,
    method: "post",
    summary: "Stop a tenant for its move",
    description:
      "From now on its requests get 410 with the new address, and its rows do not change. `DELETE` cancels the move.",
    body: moveRequest,
    answers: { 200: { description: "The tables to copy.", schema: moveAnswer } },
    refuses: ["not_found", "tenant_moved", "history_unavailable"],
  },
  async (c, { params, body }) => {
    const name = await foundTenant(c, params.tenant);
    const { schema, tables } = unwrap(await leaveTenant(c.env, name, body.to));
    const created = await createdAtOf(c.env.DB, name.tenant);
    return answer(c, {
      tenant: name.tenant,
      created_at: toIso(created),
      release: VERSION,
      schema,
      tables: [
        ...MOVING_HISTORY.map((table) => ({ place: "history", table })),
        ...tables.map((table) => ({ place: "object", table })),
      ],
    });
  },
);

const giveUp = endpoint(
  {
    ...MOVE,
    method: "delete",
    summary: "Cancel a move",
    description: "The tenant is served here again.",
    answers: { 204: { description: "The tenant is served here again." } },
    refuses: ["not_found", "history_unavailable"],
  },
  async (c, { params }) => {
    unwrap(await stayTenant(c.env, await foundTenant(c, params.tenant)));
    return c.body(null, 204);
  },
);

const read = endpoint(
  {
    ...ROWS,
    method: "get",
    summary: "Read rows of a tenant that moves away",
    query: rowsQuery,
    answers: { 200: { description: "Part of a table, and where the next part begins.", schema: rowsPart } },
    refuses: ["not_found", "history_unavailable"],
  },
  async (c, { params, query }) => {
    const name = await foundTenant(c, params.tenant);
    const { place, table } = query;
    const from = Number(query.from);
    refuseUnknown(place, table);
    const page =
      place === "history"
        ? await readHistoryTable(c.env.DB, name.tenant, table, from, PART_CHARS)
        : await readTenantTable(c.env, name, table, from, PART_CHARS);
    return answer(c, { place, table, ...page, is_first: from === 0 });
  },
);

const write = endpoint(
  {
    ...ROWS,
    method: "post",
    summary: "Write rows of a tenant that moves here",
    rawBody: { schema: rowsPart, media: ["application/json"] },
    answers: { 204: { description: "The rows are stored." } },
    refuses: ["tenant_exists", "not_found", "history_unavailable"],
  },
  async (c, { params }) => {
    const given = await readJson(c, MAX_PART_BYTES);
    const parsed = rowsPart.safeParse(given);
    if (!parsed.success) throw new Refused(refusalOf(rowsPart, parsed.error, given, "body"));
    const { place, table, columns, rows, is_first } = parsed.data;
    refuseUnknown(place, table);
    const name = await foundTenant(c, params.tenant);
    if (place === "history") await writeHistoryTable(c.env.DB, name.tenant, table, { columns, rows }, is_first);
    else unwrap(await writeTenantTable(c.env, name, table, { columns, rows }));
    return c.body(null, 204);
  },
);

const arrive = endpoint(
  {
    ...BASE,
    method: "post",
    path: "/admin/tenants/{tenant}/arrive",
    summary: "Prepare for a tenant that moves here",
    body: arrivalRequest,
    answers: { 201: { description: "The tenant's rows can be written now.", schema: movingTenant } },
    refuses: ["tenant_exists", "not_found", "history_unavailable"],
  },
  async (c, { params, body }) => {
    const { tenant } = params;
    if ((await findTenant(c.env.DB, tenant)) !== null) throw new Refused({ code: "tenant_exists", tenant });
    unwrap(await makeRoom(c.env, { tenant, jurisdiction: null }, body.schema));
    await claimTenantName(c.env.DB, { tenant, jurisdiction: null }, Date.parse(body.created_at));
    return answer(c, { tenant, state: "arriving" }, 201);
  },
);

const arrived = endpoint(
  {
    ...BASE,
    method: "post",
    path: "/admin/tenants/{tenant}/arrived",
    summary: "Serve a tenant whose rows have all been copied here",
    answers: { 200: { description: "The tenant is served here.", schema: movingTenant } },
    refuses: ["not_found", "history_unavailable"],
  },
  async (c, { params }) => {
    const name = await foundTenant(c, params.tenant);
    unwrap(await settleTenant(c.env, name));
    return answer(c, { tenant: name.tenant, state: "arrived" });
  },
);

export const moveRoutes: readonly Endpoint[] = [begin, giveUp, read, write, arrive, arrived];
