// A request that is a form with files. Its fields become the job's input, in their order; each file streams to an
// object, and stands in the input as `{"file": "<id>"}`. The worker makes the same form of both again.

import { utf8Bytes } from "../../../contract/words/field.ts";
import { FILE_LIFE_MS, MAX_JOB_FILES } from "../../../domain/file/file.ts";
import type { FormApi } from "../../../domain/words/api.ts";
import type { Json } from "../../../domain/words/json.ts";
import { invalid } from "../../../domain/words/refusal.ts";
import { readField, readParts } from "../../files/multipart.ts";
import { declaredBytesOf, receive, receiveFile } from "../../files/receive.ts";
import type { Receiver } from "../../files/reception.ts";
import { sendOn } from "../../files/send-on.ts";
import { requireForm } from "../../files/upload.ts";
import type { AppContext } from "../../http/auth.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { Refused } from "../../http/refused.ts";
import { callTenant } from "../../tenant/tenant.ts";
import { type DoorRequest, mayBeLarge, readRequest } from "./request.ts";

const MAX_FORM_BYTES = 100 * 1024 * 1024;
const MAX_FIELD_BYTES = 128 * 1024;
/** Together, as JSON, they are the job's input. */
const MAX_FIELDS_BYTES = 512 * 1024;

const TOO_LARGE = {
  code: "file_too_large",
  limitBytes: MAX_FORM_BYTES,
  detail: `a form has at most ${MAX_FORM_BYTES} bytes: send less, or split it`,
} as const;

/** What arrives under a name: once, or several times in its order. */
type Fields = Map<string, Json>;

/** Fields whose meaning here must be their meaning at the runtime, which might take the other one of two. */
const GIVEN_ONCE: ReadonlySet<string> = new Set(["model", "stream"]);

const add = (fields: Fields, name: string, value: Json): void => {
  const before = fields.get(name);
  if (before !== undefined && GIVEN_ONCE.has(name)) throw new Refused(invalid(name, "is given more than once"));
  if (before === undefined) fields.set(name, value);
  else fields.set(name, Array.isArray(before) ? [...before, value] : [before, value]);
};

/** Removes what was uploaded for a request that becomes no job. */
export const dropUploads = async (c: AppContext, token: TokenFacts, files: readonly string[]): Promise<void> => {
  await Promise.allSettled(files.map((id) => callTenant(c.env, token, "deleteFile", { id })));
};

/** Its files are for one request, and go with it. */
const receiver = (c: AppContext, token: TokenFacts): Receiver => ({ ...receiveFile(c, token), tooLarge: TOO_LARGE });

type FilePart = Parameters<typeof readField>[0];

const receivePart = (c: AppContext, token: TokenFacts, { filename, contentType, body }: FilePart) =>
  receive(
    c,
    token,
    {
      declaredBytes: null,
      send: async (store) => {
        await sendOn(body, store);
        return { name: filename, contentType, purpose: null, lifeMs: FILE_LIFE_MS.answer };
      },
    },
    receiver(c, token),
  );

export const readFormRequest = async (c: AppContext, api: FormApi, token: TokenFacts): Promise<DoorRequest> => {
  const boundary = requireForm(c);
  const { body } = c.req.raw;
  if (body === null) throw new Refused(invalid("", "the form is malformed: it is empty"));
  if ((declaredBytesOf(c) ?? 0) > MAX_FORM_BYTES) throw new Refused(TOO_LARGE);
  await mayBeLarge(c, api, token);
  const fields: Fields = new Map();
  const identity: Fields = new Map();
  const files: string[] = [];
  let fieldBytes = 0;
  try {
    for await (const part of readParts(body, boundary)) {
      if (part.filename === null) {
        const text = await readField(part, MAX_FIELD_BYTES);
        fieldBytes += utf8Bytes(JSON.stringify({ [part.name]: text }));
        if (fieldBytes > MAX_FIELDS_BYTES)
          throw new Refused(invalid("", `the form's fields may have at most ${MAX_FIELDS_BYTES} bytes as JSON`));
        add(fields, part.name, text);
        add(identity, part.name, text);
        continue;
      }
      if (files.length === MAX_JOB_FILES)
        throw new Refused(invalid(part.name, `a form has at most ${MAX_JOB_FILES} files`));
      const file = await receivePart(c, token, part);
      files.push(file.id);
      add(fields, part.name, { file: file.id });
      add(identity, part.name, { file: file.sha256 });
    }
    const read = { body: Object.fromEntries(fields), large: null, identity: Object.fromEntries(identity), files };
    return await readRequest(c, api, read);
  } catch (error) {
    c.executionCtx.waitUntil(dropUploads(c, token, files));
    throw error;
  }
};
