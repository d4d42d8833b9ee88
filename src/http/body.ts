// Bodies from strangers: read with a limit in bytes as they stream and a deadline, decoded strictly, nested within
// reason. What comes out is JSON that no later step chokes on.

import { invalid } from "../../domain/refusal.ts";
import { MAX_BODY_BYTES } from "../contract/field.ts";
import { Refused } from "./refused.ts";

/** workerd does not end a body that never ends. */
const BODY_DEADLINE_MS = 10_000;
const MAX_DEPTH = 64;

const mediaTypeOf = (request: Request): string =>
  (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

/** The body as text; empty where there is none. */
export const readText = async (request: Request, limitBytes: number): Promise<string> => {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > limitBytes) throw new Refused({ code: "payload_too_large", limitBytes });
  if (request.body === null) return "";
  const bytes = await withDeadline(request.body.getReader(), limitBytes);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw new Refused(invalid("", "the body must be UTF-8"));
  }
};

const withDeadline = async (
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limitBytes: number,
): Promise<Uint8Array> => {
  let timer: ReturnType<typeof setTimeout> | null = null;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Refused({ code: "request_timeout", afterMs: BODY_DEADLINE_MS })),
      BODY_DEADLINE_MS,
    );
  });
  try {
    return await Promise.race([readAll(reader, limitBytes), deadline]);
  } catch (error) {
    reader.cancel().catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(timer);
  }
};

const readAll = async (reader: ReadableStreamDefaultReader<Uint8Array>, limitBytes: number): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > limitBytes) throw new Refused({ code: "payload_too_large", limitBytes });
    chunks.push(value);
  }
  if (chunks.length === 1 && chunks[0] !== undefined) return chunks[0];
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
};

/** The JSON body; `undefined` where there is none. */
export const readJson = async (request: Request): Promise<unknown> => {
  const mediaType = mediaTypeOf(request);
  const isJson = mediaType === "application/json" || mediaType.endsWith("+json");
  if (mediaType !== "" && !isJson) throw new Refused({ code: "unsupported_media_type", expected: "application/json" });
  const text = await readText(request, MAX_BODY_BYTES);
  if (text === "") return undefined;
  if (!isJson) throw new Refused({ code: "unsupported_media_type", expected: "application/json" });
  return parseJson(text);
};

export const parseJson = (text: string): unknown => {
  if (isTooDeep(text)) throw new Refused(invalid("", `the body must not nest deeper than ${MAX_DEPTH} levels`));
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refused(invalid("", `the body must be JSON: ${(error as Error).message.slice(0, 120)}`));
  }
};

/** Counts brackets outside of strings, so that no parser recurses into a bomb. */
const isTooDeep = (text: string): boolean => {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (isInString) {
      if (char === 92) at += 1;
      else if (char === 34) isInString = false;
    } else if (char === 34) isInString = true;
    else if (char === 91 || char === 123) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (char === 93 || char === 125) depth -= 1;
  }
  return false;
};
