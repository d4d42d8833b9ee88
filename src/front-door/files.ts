// Files in OpenAI's form: the same files as `/api/files`.

import { fileIdParam } from "../../contract/file.ts";
import { openAiError } from "../../contract/front-door/door-error.ts";
import {
  openAiFile,
  openAiFileDeleted,
  openAiFileFields,
  openAiFileForm,
  openAiFileList,
  openAiFileQuery,
  toOpenAiFile,
} from "../../contract/front-door/openai-file.ts";
import { toPage } from "../../contract/front-door/page.ts";
import { toMs } from "../../contract/words/field.ts";
import { refusalOf } from "../../contract/words/validation.ts";
import { invalid } from "../../domain/words/refusal.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { sendContent } from "../files/content.ts";
import { receive, receiveFile } from "../files/receive.ts";
import { arrivingForm, requireForm } from "../files/upload.ts";
import { answer } from "../http/answer.ts";
import { Refused } from "../http/refused.ts";
import { ask } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";

const BASE = { tag: "Front door", errorSchema: openAiError } as const;
const ONE = { ...BASE, path: "/v1/files/{id}", params: fileIdParam, takesAnyQuery: true } as const;
const USUAL_PAGE = 1_000;

const create = endpoint(
  {
    ...BASE,
    ...asks("announceFile", "files_full", "file_too_large"),
    operationId: "createOpenAiFile",
    method: "post",
    path: "/v1/files",
    summary: "Store a file (OpenAI)",
    takesAnyQuery: true,
    rawBody: { schema: openAiFileForm, media: ["multipart/form-data"], isStreamed: true },
    answers: { 200: { description: "The file.", schema: openAiFile } },
  },
  async (c, { token }) => {
    const boundary = requireForm(c);
    const arriving = arrivingForm(c, boundary, (fields) => {
      const given = Object.fromEntries(fields);
      if (given.purpose === undefined) throw new Refused(invalid("purpose", "is required"));
      const parsed = openAiFileFields.safeParse(given);
      if (!parsed.success) throw new Refused(refusalOf(openAiFileFields, parsed.error, given, "body"));
      const { "expires_after[anchor]": anchor, "expires_after[seconds]": life } = parsed.data;
      if (anchor !== undefined && life === undefined)
        throw new Refused(invalid("expires_after[seconds]", "is required beside expires_after[anchor]"));
      return { purpose: parsed.data.purpose, lifeMs: life === undefined ? null : toMs(life) };
    });
    return answer(c, toOpenAiFile(await receive(c, token, arriving, receiveFile(c, token))));
  },
);

const list = endpoint(
  {
    ...BASE,
    ...asks("listFilesAfter"),
    operationId: "listOpenAiFiles",
    method: "get",
    lane: "heavy",
    path: "/v1/files",
    summary: "List files (OpenAI)",
    query: openAiFileQuery,
    answers: { 200: { description: "A page of files, newest first unless `order` is `asc`.", schema: openAiFileList } },
  },
  async (c, { query, token }) => {
    const { after, limit = USUAL_PAGE, order = "desc", purpose = null } = query;
    const asked = { purpose, after: after || null, isAscending: order === "asc", limit };
    const { files, hasMore } = await ask(c, token, "listFilesAfter", asked);
    return answer(c, { object: "list", ...toPage(files.map(toOpenAiFile), hasMore) });
  },
);

const get = endpoint(
  {
    ...ONE,
    ...asks("getFile"),
    operationId: "getOpenAiFile",
    method: "get",
    summary: "Read a file's record (OpenAI)",
    answers: { 200: { description: "The file.", schema: openAiFile } },
  },
  async (c, { params, token }) => answer(c, toOpenAiFile(await ask(c, token, "getFile", { id: params.id }))),
);

const remove = endpoint(
  {
    ...ONE,
    ...asks("deleteFile"),
    operationId: "deleteOpenAiFile",
    method: "delete",
    summary: "Delete a file (OpenAI)",
    answers: { 200: { description: "Deleted.", schema: openAiFileDeleted } },
  },
  async (c, { params: { id }, token }) => {
    await ask(c, token, "deleteFile", { id });
    return answer(c, { id, object: "file", deleted: true });
  },
);

const content = endpoint(
  {
    ...ONE,
    ...asks("readFile", "range_not_satisfiable"),
    operationId: "readOpenAiFileContent",
    readsFile: true,
    method: "get",
    path: "/v1/files/{id}/content",
    summary: "Read a file's bytes (OpenAI)",
    answers: { 200: { description: "The bytes.", media: ["*/*"] } },
  },
  async (c, { params: { id }, token }) => sendContent(c, token, await ask(c, token, "readFile", { id })),
);

export const doorFileRecordRoutes: readonly Endpoint[] = [list, get, remove];
export const doorFileByteRoutes: readonly Endpoint[] = [create, content];
