// The two forms of an upload: the bytes as body, or a form with one file and its fields in any order.

import { invalid } from "../../domain/words/refusal.ts";
import type { AppContext } from "../http/auth.ts";
import { Refused } from "../http/refused.ts";
import { boundaryOf, readField, readParts } from "./multipart.ts";
import { declaredBytesOf } from "./receive.ts";
import type { Arriving, FileFacts } from "./reception.ts";
import { sendOn } from "./send-on.ts";

const MAX_FIELD_BYTES = 4 * 1024;
/** Of a form's length, what is not the file: boundaries, headers, fields. */
const FORM_ROOM_BYTES = 64 * 1024;

export const formOf = (c: AppContext): string | null => boundaryOf(c.req.header("content-type"));

/** The boundary of a request that must be a form. */
export const requireForm = (c: AppContext): string => {
  const boundary = formOf(c);
  if (boundary !== null) return boundary;
  throw new Refused({ code: "unsupported_media_type", expected: "multipart/form-data" });
};

export const arrivingBytes = (c: AppContext, facts: Omit<FileFacts, "contentType">): Arriving => ({
  declaredBytes: declaredBytesOf(c),
  mostBytes: declaredBytesOf(c),
  send: async (store) => {
    await store(c.req.raw.body);
    return { ...facts, contentType: c.req.header("content-type") ?? null };
  },
});

/** `read` makes the file's facts of the fields; unknown fields are its to refuse. */
export const arrivingForm = (
  c: AppContext,
  boundary: string,
  read: (fields: ReadonlyMap<string, string>) => Pick<FileFacts, "purpose" | "lifeMs">,
  fileField = "file",
): Arriving => ({
  declaredBytes: Math.max(0, (declaredBytesOf(c) ?? 0) - FORM_ROOM_BYTES) || null,
  mostBytes: declaredBytesOf(c),
  send: async (store) => {
    const fields = new Map<string, string>();
    let file: Pick<FileFacts, "name" | "contentType"> | null = null;
    const { body } = c.req.raw;
    if (body === null) throw new Refused(invalid(fileField, "is required: send a form with one file"));
    for await (const part of readParts(body, boundary)) {
      if (part.filename === null) {
        fields.set(part.name, await readField(part, MAX_FIELD_BYTES));
        continue;
      }
      if (part.name !== fileField) throw new Refused(invalid(part.name, `is no field for a file: use "${fileField}"`));
      if (file !== null) throw new Refused(invalid(fileField, "is given more than once: send one file a request"));
      file = { name: part.filename, contentType: part.contentType };
      await sendOn(part.body, store);
    }
    if (file === null) throw new Refused(invalid(fileField, "is required: send a form with one file"));
    return { ...file, ...read(fields) };
  },
});
