// The bytes of a moving tenant's files: streamed from one deployment to the other, one after the other, each checked by
// its digest.

import type { MovedFile, MovedFileQuery, RowsPart } from "../contract/move.ts";

interface Ends {
  readonly read: (id: string, ofBatch: MovedFileQuery) => Promise<Response>;
  readonly write: (id: string, bytes: ReadableStream<Uint8Array>, until: string) => Promise<MovedFile>;
}

interface MovingFile {
  readonly id: string;
  /** null: not all of it has arrived, so there is nothing to copy. */
  readonly sha256: string | null;
  readonly expiresAt: number;
  /** What a batch made of another file: its bytes lie there, and are bytes of its own at the target. */
  readonly view?: Required<MovedFileQuery> & { readonly fileId: string };
}

/** The files of a part of the table with their records. */
export const filesIn = ({ columns, rows }: Pick<RowsPart, "columns" | "rows">): MovingFile[] => {
  const at = columns.indexOf("record");
  return rows.map((row) => JSON.parse(String(row[at])) as MovingFile);
};

/** Returns whether there was anything to copy: a file may end while its tenant moves. */
export const moveFile = async (
  { read, write }: Ends,
  { id, sha256, expiresAt, view }: MovingFile,
  nowMs: number,
): Promise<boolean> => {
  if (sha256 === null || expiresAt <= nowMs) return false;
  const { fileId, ...ofBatch } = view ?? { fileId: id };
  const { body } = await read(fileId, ofBatch);
  const stored = await write(id, body ?? new Blob([]).stream(), new Date(expiresAt).toISOString());
  if (stored.sha256 === sha256) return true;
  throw new Error(`File ${id} differs there (SHA-256 ${stored.sha256}). The tenant has not left: repeat the move.`);
};
