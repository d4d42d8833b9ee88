// The bytes of a moving tenant's files, with the root key: read at the old deployment, written at the new one, file by
// file. Their records move with the tenant's rows.

import * as z from "zod";
import { fileId } from "../../../contract/file.ts";
import { movedFile, movedFileQuery } from "../../../contract/move.ts";
import { tenantParam } from "../../../contract/tenant.ts";
import { fromIso, instant, json } from "../../../contract/words/field.ts";
import { MAX_FILE_BYTES } from "../../../domain/file/file.ts";
import { invalid } from "../../../domain/words/refusal.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { readBytes, storeBytes, TO_THE_END } from "../../files/objects.ts";
import { answer, answerBody } from "../../http/answer.ts";
import { Refused } from "../../http/refused.ts";
import { foundTenant } from "./found-tenant.ts";

const ONE = {
  tag: "Tenants",
  needs: "root",
  path: "/admin/tenants/{tenant}/files/{id}",
  params: tenantParam.extend({ id: fileId }),
} as const;

const read = endpoint(
  {
    ...ONE,
    method: "get",
    operationId: "readMovedFile",
    summary: "Read a file of a tenant that moves away",
    query: movedFileQuery,
    answers: { 200: { description: "The bytes.", media: ["application/octet-stream"] } },
    refuses: ["not_found", "history_unavailable"],
  },
  async (c, { params, query: { batch, form } }) => {
    const name = await foundTenant(c, params.tenant);
    if (name.away === null) throw new Refused(invalid("", "this tenant is served here: begin with its move"));
    const view = batch === undefined || form === undefined ? null : { batch, form };
    const bytes = await readBytes({ env: c.env, name, id: params.id }, 0, TO_THE_END, view);
    return answerBody(c, bytes, { "content-type": "application/octet-stream" });
  },
);

const write = endpoint(
  {
    ...ONE,
    method: "put",
    operationId: "writeMovedFile",
    summary: "Write a file of a tenant that moves here",
    query: z.strictObject({ until: instant.meta({ description: "when the file ends" }) }),
    rawBody: { schema: json, media: ["application/octet-stream"], isStreamed: true },
    answers: { 200: { description: "What was stored.", schema: movedFile } },
    refuses: ["tenant_exists", "not_found", "file_too_large", "history_unavailable"],
  },
  async (c, { params, query }) => {
    const name = await foundTenant(c, params.tenant);
    if (name.away !== "arriving") throw new Refused({ code: "tenant_exists", tenant: name.tenant });
    const limits = { maxBytes: MAX_FILE_BYTES, expiresAt: fromIso(query.until) };
    const stored = await storeBytes({ env: c.env, name, id: params.id }, c.req.raw.body, limits);
    const detail = `a file has at most ${MAX_FILE_BYTES} bytes`;
    if (stored === null) throw new Refused({ code: "file_too_large", limitBytes: MAX_FILE_BYTES, detail });
    return answer(c, { bytes: stored.bytes, sha256: stored.sha256 });
  },
);

export const movedFileRoutes: readonly Endpoint[] = [read, write];
