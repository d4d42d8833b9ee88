// Reads request bodies: with a size limit while they stream and a deadline, strict UTF-8, bounded nesting and number
// of values. Until the tenant's object has been asked about the key, only the first 64 KiB are read.

import { hasTooLarge, TOO_LARGE_A_NUMBER } from "../../contract/text/exact-json.ts";
import { MAX_BODY_BYTES } from "../../contract/words/field.ts";
import { jsonExcess } from "../../contract/words/json-bounds.ts";
import { invalid } from "../../domain/words/refusal.ts";
import { refusalOf } from "./admission.ts";
import type { AppContext } from "./auth.ts";
import { FREE_BODY_BYTES } from "./free-body.ts";
import { Refused } from "./refused.ts";

/** workerd does not end a body that never ends. */
const BODY_DEADLINE_MS = 10_000;
/** A body of unknown length takes more of its request's share in such steps. */
const GROWS_BY_BYTES = 1024 * 1024;
/** Bytes of an oversized body still read, so that the client gets our 413, not a reset. */
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;

/** A declared length answers this without creating a stream, which in Node costs as much as the rest of a call. */
const isBodiless = (request: Request, declared: string | null): boolean =>
  declared === null ? request.body === null : declared === "0";

const declaredLength = (request: Request): string | null => request.headers.get("content-length");

const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** What a body may be, and who is asked before much of it is read. */
interface BodyTerms {
  readonly limitBytes: number;
  readonly deadlineMs?: number | undefined;
  /** Throws a refusal; called once, before more than `FREE_BODY_BYTES` are read. */
  readonly mayBeLarge?: (() => Promise<void>) | undefined;
}

/** One that has come with its head, as most do: nothing is waited for. Null if it must be read. */
const arrivedAtOnce = (c: AppContext, declared: string | null, limitBytes: number): Uint8Array | null => {
  if (declared === null || Number(declared) > Math.min(limitBytes, FREE_BODY_BYTES)) return null;
  return c.env.HOME?.arrivedBody(c) ?? null;
};

/** The body as text; empty if there is none. */
export const readText = async (c: AppContext, terms: BodyTerms): Promise<string> => {
  const chunks: Uint8Array[] = [];
  await readChunks(c, terms, (chunk) => void chunks.push(chunk));
  return decoded(joined(chunks));
};

/** No more is read of the body until the promise resolves, if there is one. */
type Take = (chunk: Uint8Array) => Promise<void> | undefined;

/** Gives the body's bytes to `take`, in the order in which they arrive. */
export const readChunks = async (c: AppContext, terms: BodyTerms, take: Take): Promise<void> => {
  const request = c.req.raw;
  const header = declaredLength(request);
  if (isBodiless(request, header)) return;
  const { limitBytes, mayBeLarge } = terms;
  const declared = header === null ? null : Number(header);
  if ((declared ?? 0) > limitBytes + MAX_DISCARDED_BYTES) throw new Refused({ code: "payload_too_large", limitBytes });
  if ((declared ?? 0) > FREE_BODY_BYTES) await mayBeLarge?.();
  const arrived = c.env.HOME?.arrivedBody(c) ?? null;
  if (arrived === null) return withDeadline(request, terms, declared === null ? counted(c, terms, take) : take);
  if (arrived.byteLength > limitBytes) throw new Refused({ code: "payload_too_large", limitBytes });
  await take(arrived);
};

/** Bytes that no header has declared: the request's share grows with them, or has no room for them. */
const counted = (c: AppContext, { limitBytes }: BodyTerms, take: Take): Take => {
  let size = 0;
  let countedBytes = FREE_BODY_BYTES;
  return (chunk) => {
    size += chunk.byteLength;
    while (size > countedBytes) {
      const more = Math.min(GROWS_BY_BYTES, Math.max(limitBytes, size) - countedBytes);
      const grown = c.get("share")?.grow(more);
      if (grown?.ok === false) throw new Refused(refusalOf(grown.error));
      countedBytes += more;
    }
    return take(chunk);
  };
};

const withDeadline = async (request: Request, terms: BodyTerms, take: Take): Promise<void> => {
  const { deadlineMs = BODY_DEADLINE_MS } = terms;
  // The platform cuts a body at its declared length, so a small one needs no counting.
  const length = declaredLength(request);
  const isSmall = length !== null && Number(length) <= Math.min(terms.limitBytes, FREE_BODY_BYTES);
  const reader = isSmall ? null : (request.body?.getReader() ?? null);
  let timer: ReturnType<typeof setTimeout> | null = null;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Refused({ code: "request_timeout", afterMs: deadlineMs })), deadlineMs);
  });
  const whole = async (): Promise<void> => take(new Uint8Array(await request.arrayBuffer()));
  try {
    await Promise.race([reader === null ? whole() : takeAll(reader, terms, take), deadline]);
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

/** Bytes above the limit are counted and forgotten. A body without a declared length is large once it shows it. */
const takeAll = async (
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { limitBytes, mayBeLarge }: BodyTerms,
  take: Take,
): Promise<void> => {
  let size = 0;
  for (let isAsked = false; ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > FREE_BODY_BYTES && !isAsked) {
      isAsked = true;
      await mayBeLarge?.();
    }
    if (size <= limitBytes) await take(value);
    else if (size > limitBytes + MAX_DISCARDED_BYTES) break;
  }
  if (size > limitBytes) throw new Refused({ code: "payload_too_large", limitBytes });
};

export const joined = (chunks: readonly Uint8Array[]): Uint8Array => {
  if (chunks.length === 1 && chunks[0] !== undefined) return chunks[0];
  const whole = new Uint8Array(chunks.reduce((size, chunk) => size + chunk.byteLength, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
};

/** The bytes as text; without the byte order mark that some clients send. */
export const decoded = (bytes: Uint8Array): string => {
  try {
    return UTF_8.decode(bytes);
  } catch {
    throw new Refused(invalid("", "the body must be UTF-8"));
  }
};

const FOREIGN_CHARSET = /;\s*charset\s*=(?!\s*"?utf-?8\b)/i;

/** Bodies are UTF-8 (JSON: RFC 8259, 8.1), so another charset is another media type. */
export const namesForeignCharset = (contentType: string): boolean => FOREIGN_CHARSET.test(contentType);

/** Without its parameters. */
export const bareMediaType = (contentType: string): string => contentType.split(";")[0]?.trim().toLowerCase() ?? "";

interface Media {
  readonly mediaType: string;
  readonly isJson: boolean;
}

/** What the request says of its body. */
const mediaOf = (request: Request): Media => {
  const contentType = request.headers.get("content-type") ?? "";
  const mediaType = bareMediaType(contentType);
  const isNamedJson = mediaType === "application/json" || mediaType.endsWith("+json");
  return { mediaType, isJson: isNamedJson && !namesForeignCharset(contentType) };
};

/** Bodies are not unpacked, so one that is packed would be read as a malformed one. */
export const refusePackedBody = (c: AppContext): void => {
  const coding = c.req.header("content-encoding")?.trim().toLowerCase() ?? "";
  if (coding === "" || coding === "identity") return;
  const expected = `${mediaOf(c.req.raw).mediaType || "application/json"}, not compressed (without Content-Encoding)`;
  throw new Refused({ code: "unsupported_media_type", expected });
};

/** Refuses a body that says that it is something else. */
export const refuseOtherMedia = (c: AppContext): void => refuseOther(mediaOf(c.req.raw));

const refuseOther = ({ mediaType, isJson }: Media): void => {
  if (mediaType === "" || isJson) return;
  const isJsonOtherwise = mediaType === "application/json";
  const expected = isJsonOtherwise ? "application/json, in UTF-8 (no other charset is accepted)" : "application/json";
  throw new Refused({ code: "unsupported_media_type", expected });
};

/** To read so much takes about a millisecond, and to check it takes another. */
export const LONG_CHARS: number = 16 * 1024;
/** To parse so much takes up to 4 ms, and to write it again takes as long. */
export const STEP_CHARS: number = 256 * 1024;

/** The JSON body, or a promise of it if it has not arrived or is long; `undefined` if there is none. */
export const readJson = (c: AppContext, terms: Partial<BodyTerms> = {}): unknown => {
  const declared = declaredLength(c.req.raw);
  if (isBodiless(c.req.raw, declared)) return undefined;
  const media = mediaOf(c.req.raw);
  refuseOther(media);
  const { limitBytes = MAX_BODY_BYTES } = terms;
  const arrived = arrivedAtOnce(c, declared, limitBytes);
  if (arrived !== null && arrived.byteLength < LONG_CHARS) return jsonOf(decoded(arrived), media);
  return readLongJson(c, media, arrived === null ? readText(c, { ...terms, limitBytes }) : decoded(arrived));
};

const readLongJson = async (c: AppContext, media: Media, reading: string | Promise<string>): Promise<unknown> => {
  const text = await reading;
  const tenant = text.length >= STEP_CHARS ? c.get("caller")?.tenant : undefined;
  if (tenant !== undefined) await c.env.HOME?.longStep(tenant);
  const body = jsonOf(text, media);
  if (tenant !== undefined) await c.env.HOME?.longStep(tenant);
  else if (text.length >= LONG_CHARS) await c.env.HOME?.othersFirst();
  return body;
};

const jsonOf = (text: string, { isJson }: Media): unknown => {
  if (text === "") return undefined;
  if (!isJson) throw new Refused({ code: "unsupported_media_type", expected: "application/json" });
  const body = parseJsonBody(text);
  if (hasTooLarge(text, body)) throw new Refused(invalid("", `the body ${TOO_LARGE_A_NUMBER}`));
  return body;
};

export const parseJsonBody = (text: string): unknown => {
  const excess = jsonExcess(text);
  if (excess !== null) throw new Refused(invalid("", `the body ${excess}`));
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refused(invalid("", `the body must be JSON: ${(error as Error).message.slice(0, 120)}`));
  }
};
