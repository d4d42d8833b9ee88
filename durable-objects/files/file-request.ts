// A request of the edge to a file's object, encoded in a query: bytes stream both ways, which an RPC call could not.

import type { ViewForm } from "./batch-lines.ts";

/** The whole file, where no upload in parts made it. */
export const WHOLE = "whole";

export interface FileRequest {
  /** The file: several may lie in one object. */
  readonly id: string;
  readonly segment: string;
  /** A body longer than this is refused with 413, and nothing of it is kept. */
  readonly maxBytes: number;
  /** The same for all segments of the file together. */
  readonly maxTotalBytes: number;
  readonly expiresAt: number;
  /** The range to read, without its end. */
  readonly from: number;
  readonly to: number;
  /** If it is set, not the file is read but what a batch made of its lines. */
  readonly view: BatchView | null;
}

export interface BatchView {
  readonly batch: string;
  readonly form: ViewForm;
}

/** What was stored; digests in hex. */
export interface StoredBytes {
  readonly bytes: number;
  readonly sha256: string;
  readonly md5: string;
}

export type WriteRequest = Pick<FileRequest, "id" | "segment" | "maxBytes" | "maxTotalBytes" | "expiresAt">;

const ORIGIN = "https://file/";

export const writeUrl = ({ id, segment, maxBytes, maxTotalBytes, expiresAt }: WriteRequest): string =>
  `${ORIGIN}?${new URLSearchParams({ id, segment, max: String(maxBytes), total: String(maxTotalBytes), until: String(expiresAt) })}`;

type ReadRequest = Pick<FileRequest, "id" | "from" | "to" | "view">;

export const readUrl = ({ id, from, to, view }: ReadRequest): string =>
  `${ORIGIN}?${new URLSearchParams({ id, from: String(from), to: String(to), ...view })}`;

export const fileRequestOf = (request: Request): FileRequest => {
  const query = new URL(request.url).searchParams;
  return {
    id: query.get("id") ?? "",
    segment: query.get("segment") ?? WHOLE,
    maxBytes: Number(query.get("max")),
    maxTotalBytes: Number(query.get("total")),
    expiresAt: Number(query.get("until")),
    from: Number(query.get("from")),
    to: Number(query.get("to")),
    view: viewOf(query.get("batch"), query.get("form")),
  };
};

const viewOf = (batch: string | null, form: string | null): BatchView | null =>
  batch !== null && (form === "out" || form === "err" || form === "anthropic") ? { batch, form } : null;
