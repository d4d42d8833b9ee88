// W3C Trace Context: the header that links a job to its caller's trace.

import { hexOf } from "../../domain/words/hex.ts";

/** A later version may say more after what version 00 says; `ff` is no version (3.2.2.1, 4.3). */
const TRACEPARENT = /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-|$)/;

const HEADER_CHARS = 55;

export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
}

/** null if the header is missing or malformed, which the standard says to ignore (W3C Trace Context, 3.2.2). */
export const readTraceparent = (header: string | null | undefined): TraceContext | null => {
  const [, traceId, spanId] = TRACEPARENT.exec(header ?? "") ?? [];
  return traceId === undefined || spanId === undefined ? null : { traceId, spanId };
};

/** Random bytes for many headers at once: one call per header would cost ten times as much as the rest. */
const pool = new Uint8Array(1_536);
const ID_BYTES = 24;
let usedBytes = pool.length;

const randomId = (): Uint8Array => {
  if (usedBytes === pool.length) {
    crypto.getRandomValues(pool);
    usedBytes = 0;
  }
  usedBytes += ID_BYTES;
  return pool.subarray(usedBytes - ID_BYTES, usedBytes);
};

/** The caller's header in version 00, or a new one. */
export const traceparentOf = (header: string | null | undefined): string => {
  if (header != null && readTraceparent(header) !== null) return `00${header.slice(2, HEADER_CHARS)}`;
  const bytes = randomId();
  return `00-${hexOf(bytes.subarray(0, 16))}-${hexOf(bytes.subarray(16))}-01`;
};
