// OpenAI's uploads: a file in parts, for what one request may not carry. The parts lie in the object of the file to be,
// for a small one in the object that small files share; an upload that is not completed within an hour ends by itself.

import * as z from "zod";
import { cleanFileName } from "../../contract/file.ts";
import { openAiError } from "../../contract/front-door/door-error.ts";
import {
  completeUploadRequest,
  newUploadRequest,
  toOpenAiFile,
  type UploadResource,
  uploadPart,
  uploadPartForm,
  uploadResource,
} from "../../contract/front-door/openai-file.ts";
import { FILE_LIFE_MS, MAX_FILE_BYTES, MAX_PART_BYTES, MAX_PARTS, type UploadFacts } from "../../domain/file/file.ts";
import { invalid } from "../../domain/words/refusal.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { assemble, keepBytes, newIdOf, storeBytes } from "../files/objects.ts";
import { arrivingForm, requireForm } from "../files/upload.ts";
import { answer } from "../http/answer.ts";
import { randomId } from "../http/key-format.ts";
import { publicOrigin } from "../http/public-address.ts";
import { Refused } from "../http/refused.ts";
import { ask } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";

const BASE = { tag: "Front door", errorSchema: openAiError, takesAnyQuery: true } as const;
const params = z.object({ id: z.string().regex(/^upload_[A-Za-z0-9_]{1,60}$/) });

/** A part whose answer was lost is sent again as another: the parts may have this many times the announced bytes. */
const SENT_AT_MOST = 2;

/** An upload's id is that of its file with another beginning. */
const fileIdOf = (uploadId: string): string => uploadId.replace(/^upload_/, "file-");

const uploadIdOf = (fileId: string): string => fileId.replace(/^file-/, "upload_");

const present = (
  fileId: string,
  upload: UploadFacts & { readonly createdAt: number; readonly expiresAt: number },
  status: UploadResource["status"],
  file: UploadResource["file"] = null,
): UploadResource => ({
  id: uploadIdOf(fileId),
  object: "upload",
  bytes: upload.bytes,
  created_at: Math.floor(upload.createdAt / 1000),
  expires_at: Math.floor(upload.expiresAt / 1000),
  filename: upload.name,
  purpose: upload.purpose ?? "",
  status,
  file,
});

const create = endpoint(
  {
    ...BASE,
    ...asks("announceFile", "file_too_large"),
    operationId: "createUpload",
    method: "post",
    path: "/v1/uploads",
    summary: "Begin an upload in parts (OpenAI)",
    body: newUploadRequest,
    answers: { 200: { description: "The upload.", schema: uploadResource } },
  },
  async (c, { body, token }) => {
    const id = newIdOf(body.bytes);
    const upload: UploadFacts = {
      bytes: body.bytes,
      name: cleanFileName(body.filename, id),
      contentType: body.mime_type,
      purpose: body.purpose,
      lifeMs: body.expires_after === undefined ? FILE_LIFE_MS.usual : body.expires_after.seconds * 1000,
    };
    const detail = `a file has at most ${MAX_FILE_BYTES} bytes: split it`;
    if (body.bytes > MAX_FILE_BYTES) throw new Refused({ code: "file_too_large", limitBytes: MAX_FILE_BYTES, detail });
    const origin = publicOrigin(c);
    const announced = await ask(c, token, "announceFile", { id, bytes: body.bytes, origin, upload });
    return answer(c, present(id, { ...upload, ...announced }, "pending"));
  },
);

const addPart = endpoint(
  {
    ...BASE,
    ...asks("getUpload", "file_too_large"),
    operationId: "addUploadPart",
    method: "post",
    path: "/v1/uploads/{id}/parts",
    params,
    summary: "Add a part to an upload (OpenAI)",
    description: "A form with one file, `data`, of at most 64 MiB.",
    rawBody: { schema: uploadPartForm, media: ["multipart/form-data"], isStreamed: true },
    answers: { 200: { description: "The part.", schema: uploadPart } },
  },
  async (c, { params: { id: uploadId }, token }) => {
    const id = fileIdOf(uploadId);
    const { bytes, expiresAt } = await ask(c, token, "getUpload", { id, isSending: true });
    const boundary = requireForm(c);
    const part = `part_${randomId()}`;
    const none = { purpose: null, lifeMs: null };
    const at = { env: c.env, name: token, id };
    const limits = { segment: part, maxBytes: MAX_PART_BYTES, maxTotalBytes: SENT_AT_MOST * bytes, expiresAt };
    let isStored = false;
    const sent = arrivingForm(c, boundary, () => none, "data").send(async (body) => {
      isStored = (await storeBytes(at, body, limits)) !== null;
      if (isStored) return;
      const detail = `a part has at most ${MAX_PART_BYTES} bytes, and all of at most ${MAX_PARTS} parts have twice the ${bytes} that were announced`;
      throw new Refused({ code: "file_too_large", limitBytes: MAX_PART_BYTES, detail });
    });
    await sent.catch(async (error: unknown) => {
      // What came of a part that broke off takes no room.
      if (isStored) await storeBytes(at, null, limits);
      throw error;
    });
    const created_at = Math.floor(Date.now() / 1000);
    return answer(c, { id: part, object: "upload.part", created_at, upload_id: uploadId });
  },
);

const complete = endpoint(
  {
    ...BASE,
    ...asks("finishFile"),
    operationId: "completeUpload",
    method: "post",
    path: "/v1/uploads/{id}/complete",
    params,
    summary: "Complete an upload (OpenAI)",
    description:
      "The parts in the order of `part_ids` are the file; others are dropped. Repeated, it answers the same upload.",
    body: completeUploadRequest,
    answers: { 200: { description: "The upload, with its file.", schema: uploadResource } },
  },
  async (c, { params: { id: uploadId }, body, token }) => {
    const id = fileIdOf(uploadId);
    const upload = await ask(c, token, "getUpload", { id, mayBeComplete: true });
    if (upload.file !== null) return answer(c, present(id, upload, "completed", toOpenAiFile(upload.file)));
    const file = { env: c.env, name: token, id };
    const stored = await assemble(file, body.part_ids, upload.bytes, upload.expiresAt);
    if (stored === null) throw new Refused(invalid("part_ids", "must name parts of this upload, each once"));
    if (typeof stored === "number")
      throw new Refused(invalid("part_ids", `the parts have ${stored} bytes, but ${upload.bytes} were announced`));
    const { bytes, sha256, md5 } = stored;
    if (body.md5 !== undefined && body.md5.toLowerCase() !== md5)
      throw new Refused(invalid("md5", `the parts have the MD5 ${md5}: send the parts that differ again`));
    const { name, contentType, purpose, lifeMs } = upload;
    const finishing = { id, bytes, sha256, name, contentType, purpose, lifeMs };
    const finished = await ask(c, token, "finishFile", finishing);
    await keepBytes(file, Date.parse(finished.expires_at));
    return answer(c, present(id, upload, "completed", toOpenAiFile(finished)));
  },
);

const cancel = endpoint(
  {
    ...BASE,
    ...asks("getUpload"),
    operationId: "cancelUpload",
    method: "post",
    path: "/v1/uploads/{id}/cancel",
    params,
    summary: "Cancel an upload (OpenAI)",
    answers: { 200: { description: "The upload; its parts are gone.", schema: uploadResource } },
  },
  async (c, { params: { id: uploadId }, token }) => {
    const id = fileIdOf(uploadId);
    const upload = await ask(c, token, "getUpload", { id });
    await ask(c, token, "forgetFile", { id });
    return answer(c, present(id, upload, "cancelled"));
  },
);

export const uploadRoutes: readonly Endpoint[] = [create, addPart, complete, cancel];
