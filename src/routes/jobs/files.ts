// Files in Signalbox's own form. OpenAI's form of the same files: `front-door/files.ts`.

import * as z from "zod";
import {
  fileBytes,
  fileIdParam,
  fileLink,
  fileList,
  fileListQuery,
  fileResource,
  newFileQuery,
  newLinkRequest,
} from "../../../contract/file.ts";
import { json, toIso, toMs } from "../../../contract/words/field.ts";
import { invalid, notFound } from "../../../domain/words/refusal.ts";
import { linkPath, readLink } from "../../../durable-objects/files/link.ts";
import { operation } from "../../endpoint/operation.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { sendContent } from "../../files/content.ts";
import { receive, receiveFile } from "../../files/receive.ts";
import { arrivingBytes, arrivingForm, formOf } from "../../files/upload.ts";
import { inTurn } from "../../http/admission.ts";
import { answer } from "../../http/answer.ts";
import { signingSecret } from "../../http/auth.ts";
import { clientOrigin } from "../../http/public-address.ts";
import { Refused, unwrap } from "../../http/refused.ts";
import { ask } from "../../tenant/ask.ts";
import { asks } from "../../tenant/asks.ts";
import { askObject } from "../../tenant/tenant-object.ts";

const BASE = { tag: "Files" } as const;
const ONE = { ...BASE, path: "/api/files/{id}", params: fileIdParam } as const;
const CONTENT = {
  200: { description: "The bytes.", media: ["*/*"], headers: { ETag: "the bytes' SHA-256, in quotes" } },
  206: { description: "The range that was asked for.", media: ["*/*"] },
  304: { description: "The client has these bytes (`If-None-Match`)." },
} as const;

const create = endpoint(
  {
    ...BASE,
    ...asks("announceFile", "files_full", "file_too_large"),
    operationId: "createFile",
    method: "post",
    path: "/api/files",
    summary: "Store a file",
    description:
      "The bytes as the body, with their `Content-Type` and `?name=`; or `multipart/form-data` with one `file`. At most 512 MiB.",
    query: newFileQuery,
    rawBody: {
      schema: json,
      media: ["application/octet-stream", "multipart/form-data"],
      form: z.object({ file: fileBytes }),
      isStreamed: true,
    },
    answers: { 201: { description: "The file.", schema: fileResource } },
  },
  async (c, { query, token }) => {
    const { name = null, purpose = null, expires_after_seconds: life } = query;
    const facts = { purpose, lifeMs: life === undefined ? null : toMs(life) };
    const boundary = formOf(c);
    const arriving =
      boundary === null
        ? arrivingBytes(c, { ...facts, name })
        : arrivingForm(c, boundary, (fields) => {
            const [unknown] = fields.keys();
            if (unknown === undefined) return facts;
            throw new Refused(invalid(unknown, "is no field of this form: send it as ?query"));
          });
    const file = await receive(c, token, arriving, receiveFile(c, token));
    return answer(c, file, 201);
  },
);

const list = endpoint(
  {
    ...BASE,
    ...asks("listFiles"),
    method: "get",
    lane: "heavy",
    path: "/api/files",
    summary: "List files, newest first",
    query: fileListQuery,
    answers: { 200: { description: "A page of files; a client key sees its own.", schema: fileList } },
  },
  async (c, { query, token }) => {
    const { limit, offset, purpose = null } = query;
    return answer(c, {
      ...(await ask(c, token, "listFiles", { purpose, limit, offset })),
      limit,
      offset,
    });
  },
);

const get = operation(
  "getFile",
  {
    ...ONE,
    method: "get",
    summary: "Read a file's record",
    answers: { 200: { description: "The file.", schema: fileResource } },
  },
  ({ params }) => params,
);

const remove = operation(
  "deleteFile",
  {
    ...ONE,
    method: "delete",
    summary: "Delete a file",
    answers: { 204: { description: "Deleted. A job that waits with it fails with `file_gone`." } },
  },
  ({ params }) => params,
);

const content = endpoint(
  {
    ...ONE,
    ...asks("readFile", "range_not_satisfiable"),
    operationId: "readFileContent",
    readsFile: true,
    method: "get",
    path: "/api/files/{id}/content",
    summary: "Read a file's bytes",
    description: "Takes a `Range` of one range. Always a download, never a page.",
    answers: CONTENT,
  },
  async (c, { params, token }) => sendContent(c, token, await ask(c, token, "readFile", params)),
);

const link = endpoint(
  {
    ...ONE,
    ...asks("readFile"),
    operationId: "createFileLink",
    method: "post",
    path: "/api/files/{id}/link",
    summary: "Make a link that needs no key",
    body: newLinkRequest,
    isBodyOptional: true,
    answers: { 201: { description: "The link.", schema: fileLink } },
  },
  async (c, { params, body, token }) => {
    const file = await ask(c, token, "readFile", params);
    const untilAt = Math.min(Date.now() + toMs(body.seconds), Date.parse(file.expires_at));
    const { tenant, jurisdiction } = token;
    const path = linkPath(signingSecret(c.env), { tenant, jurisdiction, fileId: file.id, untilAt }, file.name);
    const url = new URL(path, clientOrigin(c)).href;
    return answer(c, { url, expires_at: toIso(untilAt) }, 201);
  },
);

const followed = endpoint(
  {
    ...BASE,
    needs: "none",
    operationId: "followFileLink",
    method: "get",
    path: "/files/{link}/{name}",
    params: z.object({ link: z.string(), name: z.string() }),
    takesAnyQuery: true,
    summary: "Follow a link to a file",
    description: "Needs no key. An altered or expired link is 404.",
    refuses: ["not_found", "range_not_satisfiable"],
    answers: CONTENT,
  },
  async (c, { params }) => {
    const found = readLink(signingSecret(c.env), params.link, Date.now());
    if (found === null) throw new Refused(notFound("file", params.name));
    const { fileId, tenant } = found;
    return inTurn(c, tenant, "sending", async () => {
      const file = unwrap(await askObject(c.env, found, "fileOf", fileId));
      if (file.name.toWellFormed() !== params.name) throw new Refused(notFound("file", params.name));
      return sendContent(c, found, file);
    });
  },
);

export const fileRecordRoutes: readonly Endpoint[] = [list, get, remove];
export const fileByteRoutes: readonly Endpoint[] = [create, content, link, followed];
