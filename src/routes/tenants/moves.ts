// A tenant's move to another deployment, with the root key. The command `signalbox move` calls these steps: leave the
// old one, copy the rows, compare both ends, then let the old one name the new address and the new one serve. Each step
// may be repeated, and a move that was interrupted begins with the first again.

import {
  arrivalRequest,
  MAX_PART_BYTES,
  moveAnswer,
  moveRequest,
  movingTenant,
  PART_CHARS,
  type RowsQuery,
  rowsDigest,
  rowsPart,
  rowsQuery,
} from "../../../contract/move.ts";
import { tenantParam } from "../../../contract/tenant.ts";
import { toIso } from "../../../contract/words/field.ts";
import { refusalOf } from "../../../contract/words/validation.ts";
import { VERSION } from "../../../contract/words/version.ts";
import type { PageRequest, TablePage } from "../../../domain/tenant/moved-rows.ts";
import { invalid } from "../../../domain/words/refusal.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { chooseDatabase, historyOf } from "../../history/databases.ts";
import { MOVING_HISTORY, readHistoryTable, writeHistoryTable } from "../../history/moving.ts";
import { findTenant, prepareArrival } from "../../history/tenants.ts";
import { answer } from "../../http/answer.ts";
import type { AppContext } from "../../http/auth.ts";
import { readJson } from "../../http/body.ts";
import { digestOf } from "../../http/key-format.ts";
import { publicOrigin } from "../../http/public-address.ts";
import { Refused, unwrap } from "../../http/refused.ts";
import { askObject, isDiskFull, STORAGE_FULL } from "../../tenant/tenant-object.ts";
import { foundTenant, refuseUnknownJurisdiction } from "./found-tenant.ts";

const BASE = { tag: "Tenants", needs: "root", params: tenantParam } as const;
const MOVE = { ...BASE, path: "/admin/tenants/{tenant}/move" } as const;
const ROWS = { ...BASE, path: "/admin/tenants/{tenant}/rows" } as const;

/** The object validates the names of its own tables. */
const refuseUnknown = (place: "object" | "history", table: string): void => {
  if (place === "history" && !MOVING_HISTORY.includes(table))
    throw new Refused(invalid("table", "is not a table that moves"));
};

const NO_SUCH_KEY = invalid("from", "must be the `next` of the part before");

/** A cursor is the last row's key as JSON. */
const readCursor = (from: string): PageRequest["after"] => {
  if (from === "") return null;
  try {
    const key: unknown = JSON.parse(from);
    if (Array.isArray(key) && key.every((part) => typeof part === "string" || typeof part === "number")) return key;
  } catch {
    // Refused below.
  }
  throw new Refused(NO_SUCH_KEY);
};

const cursorOf = ({ next }: TablePage): string | null => (next === null ? null : JSON.stringify(next));

/** A part of a tenant that is not served here; a tenant that is served changes while it is read. */
const readPart = async (c: AppContext, tenant: string, { place, table, from = "" }: RowsQuery): Promise<TablePage> => {
  refuseUnknown(place, table);
  const request = { table, after: readCursor(from), maxChars: PART_CHARS };
  const name = await foundTenant(c, tenant);
  if (place === "object") return unwrap(await askObject(c.env, name, "readTable", request));
  if (name.away === null) throw new Refused(invalid("", "this tenant is served here: begin with its move"));
  const page = await readHistoryTable(historyOf(c.env, name), request);
  if (page === null) throw new Refused(NO_SUCH_KEY);
  return page;
};

const begin = endpoint(
  {
    ...MOVE,
    method: "post",
    summary: "Stop a tenant for its move",
    description:
      "From now on its requests get 503 with `Retry-After`, and its rows do not change. `DELETE` cancels the move, until `POST …/left`.",
    body: moveRequest,
    answers: { 200: { description: "The tables to copy.", schema: moveAnswer } },
    refuses: ["not_found", "tenant_moved", "batches_under_way", "history_unavailable"],
  },
  async (c, { params, body }) => {
    const name = await foundTenant(c, params.tenant);
    const { move, schema, tables } = unwrap(await askObject(c.env, name, "leave", body.to));
    return answer(c, {
      tenant: name.tenant,
      move,
      created_at: toIso(name.created_at),
      jurisdiction: name.jurisdiction,
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
    description: "The tenant is served here again. Once it has left (`POST …/left`), its move can only be completed.",
    answers: { 204: { description: "The tenant is served here again." } },
    refuses: ["not_found", "tenant_moved", "history_unavailable"],
  },
  async (c, { params }) => {
    unwrap(await askObject(c.env, await foundTenant(c, params.tenant), "stay"));
    return c.body(null, 204);
  },
);

const left = endpoint(
  {
    ...BASE,
    method: "post",
    path: "/admin/tenants/{tenant}/left",
    summary: "Tell a tenant's callers its new address",
    description:
      "Once both ends have the same digests. From now on its requests get 410 with the new address; the new deployment serves it after its `POST …/arrived`.",
    answers: { 204: { description: "Callers of the tenant are told the new address." } },
    refuses: ["not_found", "history_unavailable"],
  },
  async (c, { params }) => {
    unwrap(await askObject(c.env, await foundTenant(c, params.tenant), "endLeaving"));
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
    const page = await readPart(c, params.tenant, query);
    const { place, table, from } = query;
    return answer(c, { place, table, ...page, next: cursorOf(page), is_first: from === "" });
  },
);

const digest = endpoint(
  {
    ...BASE,
    method: "get",
    path: "/admin/tenants/{tenant}/rows/digest",
    summary: "Digest rows of a tenant that moves",
    description: "The same content gives the same parts with the same digests at both ends.",
    query: rowsQuery,
    answers: { 200: { description: "How many rows the part has, and their digest.", schema: rowsDigest } },
    refuses: ["not_found", "history_unavailable"],
  },
  async (c, { params, query }) => {
    const page = await readPart(c, params.tenant, query);
    return answer(c, {
      place: query.place,
      table: query.table,
      rows: page.rows.length,
      digest: await digestOf(JSON.stringify([page.columns, page.rows])),
      next: cursorOf(page),
    });
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
    const given = await readJson(c, { limitBytes: MAX_PART_BYTES });
    const parsed = rowsPart.safeParse(given);
    if (!parsed.success) throw new Refused(refusalOf(rowsPart, parsed.error, given, "body"));
    const { place, table, columns, rows, is_first } = parsed.data;
    refuseUnknown(place, table);
    const name = await foundTenant(c, params.tenant);
    if (name.away !== "arriving") throw new Refused({ code: "tenant_exists", tenant: name.tenant });
    if (isDiskFull(c.env)) throw new Refused(STORAGE_FULL);
    if (place === "history") await writeHistoryTable(historyOf(c.env, name), table, { columns, rows }, is_first);
    else unwrap(await askObject(c.env, name, "writeTable", table, { columns, rows }));
    return c.body(null, 204);
  },
);

const arrive = endpoint(
  {
    ...BASE,
    method: "post",
    path: "/admin/tenants/{tenant}/arrive",
    isNameNew: true,
    summary: "Prepare for a tenant that moves here",
    description: "Removes what an interrupted try has brought. `arrived`: this move has brought it already.",
    body: arrivalRequest,
    answers: { 201: { description: "Whether the tenant's rows can be written now.", schema: movingTenant } },
    refuses: ["tenant_exists", "history_unavailable"],
  },
  async (c, { params, body }) => {
    const { tenant } = params;
    const { move, schema, jurisdiction } = body;
    const name = { tenant, jurisdiction };
    refuseUnknownJurisdiction(c, name);
    const found = await findTenant(c.env, tenant);
    const database = found?.database ?? (await chooseDatabase(c.env));
    const isExpected = found === null || found.away === "arriving";
    const state = unwrap(await askObject(c.env, name, "makeRoom", { move, schema, isExpected, database }));
    if (state === "arriving") {
      const createdAt = Date.parse(body.created_at);
      await prepareArrival(c.env, name, { database, createdAt });
    }
    return answer(c, { tenant, state }, 201);
  },
);

const arrived = endpoint(
  {
    ...BASE,
    method: "post",
    path: "/admin/tenants/{tenant}/arrived",
    summary: "Serve a tenant whose rows have all been copied here",
    answers: { 200: { description: "The tenant is served here.", schema: movingTenant } },
    refuses: ["not_found", "tenant_moved", "history_unavailable"],
  },
  async (c, { params }) => {
    const name = await foundTenant(c, params.tenant);
    unwrap(await askObject(c.env, name, "settleIn", publicOrigin(c)));
    return answer(c, { tenant: name.tenant, state: "arrived" });
  },
);

export const moveRoutes: readonly Endpoint[] = [begin, giveUp, read, digest, write, left, arrive, arrived];
