// Reads request bodies: with a size limit while they stream and a deadline, strict UTF-8, bounded nesting. The result
// is JSON that is safe for every later step.

import { MAX_BODY_BYTES } from "../../contract/field.ts";
import { isTooDeep, MAX_JSON_DEPTH } from "../../contract/nesting.ts";
import { invalid } from "../../domain/refusal.ts";
import type { AppContext } from "./auth.ts";
import { Refused } from "./refused.ts";

/** workerd does not end a body that never ends. */
const BODY_DEADLINE_MS = 10_000;
/** Long enough for 32 MiB over a slow connection. */
const LARGE_BODY_DEADLINE_MS = 120_000;
/** Bytes of an oversized body still read, so that the client gets our 413, not a reset. */
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;

/** A declared length answers this without creating a stream, which in Node costs as much as the rest of a call. */
const isBodiless = (request: Request): boolean => {
  const length = request.headers.get("content-length");
  return length === null ? request.body === null : length === "0";
};

const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** The body as text; empty if there is none. */
export const readText = async (
  c: AppContext,
  limitBytes: number,
  deadlineMs: number = BODY_DEADLINE_MS,
): Promise<string> => {
  if (isBodiless(c.req.raw)) return "";
  const bytes = c.env.HOME?.arrivedBody(c) ?? (await withDeadline(c.req.raw, limitBytes, deadlineMs));
  if (bytes.byteLength > limitBytes) throw new Refused({ code: "payload_too_large", limitBytes });
  try {
    return UTF_8.decode(bytes);
  } catch {
    throw new Refused(invalid("", "the body must be UTF-8"));
  }
};

const withDeadline = async (
  request: Request,
  limitBytes: number,
  deadlineMs: number,
): Promise<ArrayBuffer | Uint8Array> => {
  // The platform cuts a body at its declared length; one without is counted while it streams.
  const header = request.headers.get("content-length");
  const declared = header === null ? null : Number(header);
  if ((declared ?? 0) > limitBytes + MAX_DISCARDED_BYTES) throw new Refused({ code: "payload_too_large", limitBytes });
  const isCounted = declared === null || declared > limitBytes;
  const reader = isCounted ? (request.body?.getReader() ?? null) : null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Refused({ code: "request_timeout", afterMs: deadlineMs })), deadlineMs);
  });
  try {
    return await Promise.race([reader === null ? request.arrayBuffer() : readAll(reader, limitBytes), deadline]);
  } catch (error) {
    reader?.cancel().catch(() => undefined);
    // If the platform cannot read the body (a chunk without a size, a closed connection), the client is at fault.
    throw error instanceof Refused
      ? error
      : new Refused(invalid("", "the body ended too early, or its chunks are malformed"));
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
    if (size <= limitBytes) chunks.push(value);
    else if (size > limitBytes + MAX_DISCARDED_BYTES) break;
  }
  if (size > limitBytes) throw new Refused({ code: "payload_too_large", limitBytes });
  if (chunks.length === 1 && chunks[0] !== undefined) return chunks[0];
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
};

const FOREIGN_CHARSET = /;\s*charset\s*=(?!\s*"?utf-?8\b)/i;

/** Bodies are UTF-8 (JSON: RFC 8259, 8.1), so another charset is another media type. */
export const namesForeignCharset = (contentType: string): boolean => FOREIGN_CHARSET.test(contentType);

/** What the request says of its body. */
const mediaOf = (request: Request): { mediaType: string; isJson: boolean } => {
  const contentType = request.headers.get("content-type") ?? "";
  const mediaType = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  const isNamedJson = mediaType === "application/json" || mediaType.endsWith("+json");
  return { mediaType, isJson: isNamedJson && !namesForeignCharset(contentType) };
};

/** The JSON body; `undefined` if there is none. */
export const readJson = async (c: AppContext, limitBytes: number = MAX_BODY_BYTES): Promise<unknown> => {
  if (isBodiless(c.req.raw)) return undefined;
  const { mediaType, isJson } = mediaOf(c.req.raw);
  const isJsonOtherwise = mediaType === "application/json" && !isJson;
  const expected = isJsonOtherwise ? "application/json, in UTF-8 (no other charset is accepted)" : "application/json";
  if (mediaType !== "" && !isJson) throw new Refused({ code: "unsupported_media_type", expected });
  const text = await readText(c, limitBytes);
  if (text === "") return undefined;
  if (!isJson) throw new Refused({ code: "unsupported_media_type", expected: "application/json" });
  return parseJson(text);
};

/** A body with a larger size limit, and its text. */
export const readLargeJson = async (c: AppContext, limitBytes: number): Promise<{ value: unknown; text: string }> => {
  const { mediaType, isJson } = mediaOf(c.req.raw);
  if (mediaType !== "" && !isJson) throw new Refused({ code: "unsupported_media_type", expected: "application/json" });
  const text = await readText(c, limitBytes, LARGE_BODY_DEADLINE_MS);
  if (text === "") throw new Refused(invalid("", "a JSON body is required"));
  return { value: parseJson(text), text };
};

export const parseJson = (text: string): unknown => {
  if (isTooDeep(text)) throw new Refused(invalid("", `the body must not nest deeper than ${MAX_JSON_DEPTH} levels`));
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refused(invalid("", `the body must be JSON: ${(error as Error).message.slice(0, 120)}`));
  }
};
