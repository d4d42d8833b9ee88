// The records of the tenant's files. The edge announces a file, streams its bytes to their object, and reports when all
// are stored; a file that was announced and never arrived ends by itself. No bytes pass through here.

import { type FileResource, presentFile } from "../../../contract/file.ts";
import {
  type FileRecord,
  type FilesHeld,
  type FilesRoom,
  type FileView,
  fits,
  isReadable,
  mayHaveBytes,
  mayRead,
  RECEIVING_MS,
  roomOf,
  type UploadFacts,
} from "../../../domain/file/file.ts";
import { notFound, type Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { findReadable, findVisible, heldFiles, isHeldByCaller, readerOf } from "../../steps/find-file.ts";
import type { Turn } from "../../turn/turn.ts";

const ENDED_A_SWEEP = 500;

export interface NewFile {
  readonly id: string;
  /** As the request declares them, or as many as it needs so far; null if it does not say. */
  readonly bytes: number | null;
  /** The address of the request. */
  readonly origin: string;
  /** It was announced under this id, under which nothing was sent. */
  readonly instead?: string | null;
  /** It comes in parts. */
  readonly upload?: UploadFacts;
}

/** A file whose bytes are on their way. */
export interface Announced {
  /** What its room was taken from. */
  readonly room: FilesRoom;
  readonly createdAt: number;
  /** When it is given up. */
  readonly expiresAt: number;
}

/** What is known of a file when its bytes have arrived. */
export interface ArrivedFile {
  readonly id: string;
  readonly name: string;
  readonly contentType: string;
  readonly purpose: string | null;
  readonly bytes: number;
  readonly sha256: string;
  readonly lifeMs: number;
}

export const announceFile = (turn: Turn, file: NewFile): Result<Announced, Refusal> =>
  announce(turn, file, { jobId: null, ownerKeyId: turn.caller.keyId });

/** The room that the files beside this one leave: the owner's, if a client's key has less left than the tenant. */
const roomBeside = (turn: Turn, file: FileRecord | null, owner: string | null): FilesRoom => {
  const { files, keys } = turn.store;
  const { maxBytes } = turn.memory.config.files;
  const left = (of: FilesRoom["of"], { count, bytes }: FilesHeld): FilesRoom =>
    roomOf(of, { count: count - Number(file !== null), bytes: bytes - (file?.bytes ?? 0) }, maxBytes);
  const ofTenant = left("tenant", files.held());
  const isFull = ofTenant.count >= ofTenant.maxCount;
  if (isFull || owner === null || keys.find(owner)?.role !== "client") return ofTenant;
  const ofKey = left("key", files.held(owner));
  const hasLess = ofKey.limitBytes - ofKey.heldBytes < ofTenant.limitBytes - ofTenant.heldBytes;
  return hasLess || ofKey.count >= ofKey.maxCount ? ofKey : ofTenant;
};

/** Room is taken before the bytes are sent. What does not say how long it is is announced again as it comes, with more. */
export const announce = (
  turn: Turn,
  { id, bytes, origin, instead = null, upload }: NewFile,
  of: Pick<FileRecord, "jobId" | "ownerKeyId">,
): Result<Announced, Refusal> => {
  const before = turn.store.files.find(instead ?? id);
  const room = roomBeside(turn, before, of.ownerKeyId);
  const fitting = fits(room, bytes ?? 0);
  if (!fitting.ok) return fitting;
  if (instead !== null) turn.store.files.remove(instead);
  const createdAt = before?.createdAt ?? turn.nowAt;
  const expiresAt = createdAt + RECEIVING_MS;
  turn.store.files.put({
    id,
    name: "",
    contentType: "",
    purpose: null,
    bytes: bytes ?? 0,
    sha256: null,
    createdAt,
    expiresAt,
    keyId: turn.caller.keyId,
    ...of,
    origin,
    upload: upload === undefined ? null : { ...upload, isEmpty: true },
  });
  turn.due(expiresAt);
  return ok({ room, createdAt, expiresAt });
};

export const finishFile = (turn: Turn, arrived: ArrivedFile): Result<FileResource, Refusal> => {
  const file = arrive(turn, arrived);
  return file.ok ? ok(presentFile(file.value)) : file;
};

/** All bytes are stored: from now on the file exists, and its life is counted. Repeating it changes nothing. */
export const arrive = (turn: Turn, arrived: ArrivedFile): Result<FileRecord, Refusal> => {
  const { id, lifeMs, ...facts } = arrived;
  const announced = turn.store.files.find(id);
  if (announced === null || announced.keyId !== turn.caller.keyId) return err(notFound("file", id));
  if (announced.sha256 !== null) return ok(announced);
  const fitting = fits(roomBeside(turn, announced, announced.ownerKeyId), facts.bytes);
  if (!fitting.ok) {
    drop(turn, announced);
    return fitting;
  }
  const { nowAt } = turn;
  const file: FileRecord = { ...announced, ...facts, createdAt: nowAt, expiresAt: nowAt + lifeMs };
  turn.store.files.put(file);
  turn.due(file.expiresAt);
  return ok(file);
};

export interface Upload extends UploadFacts, Pick<FileRecord, "createdAt" | "expiresAt"> {
  /** Once it is complete. */
  readonly file: FileResource | null;
}

/** An upload in parts of the caller's key: one that it may continue, or one that may be complete, to answer that again. */
export const getUpload = (
  turn: Turn,
  { id, mayBeComplete = false, isSending = false }: { id: string; mayBeComplete?: boolean; isSending?: boolean },
): Result<Upload, Refusal> => {
  const record = turn.store.files.find(id);
  const file = record !== null && isReadable(record, turn.nowAt) ? presentFile(record) : null;
  if (
    !record?.upload ||
    record.expiresAt <= turn.nowAt ||
    record.keyId !== turn.caller.keyId ||
    (file && !mayBeComplete)
  )
    return err(notFound("upload", id.replace(/^file-/, "upload_")));
  if (isSending && !mayHaveBytes(record))
    turn.store.files.put({ ...record, upload: { ...record.upload, isEmpty: false } });
  return ok({ ...record.upload, createdAt: record.createdAt, expiresAt: record.expiresAt, file });
};

/** The bytes did not arrive. */
export const forgetFile = (turn: Turn, { id }: { id: string }): Result<null, Refusal> => {
  const announced = turn.store.files.find(id);
  if (announced !== null && announced.sha256 === null && announced.keyId === turn.caller.keyId) drop(turn, announced);
  return ok(null);
};

export const drop = (turn: Turn, file: FileRecord): void => {
  turn.store.files.remove(file.id);
  if (!mayHaveBytes(file)) return;
  if (file.view === undefined) turn.effects.droppedFiles.push(file.id);
  else turn.effects.droppedViews.push(file.view);
};

export const getFile = (turn: Turn, { id }: { id: string }): Result<FileResource, Refusal> => {
  const found = findVisible(turn, id);
  return found.ok ? ok(presentFile(found.value)) : found;
};

/** A file whose bytes may lie in the object of another. */
export type ReadableFile = FileResource & { readonly view: FileView | null };

/** Before its bytes are sent. */
export const readFile = (turn: Turn, { id }: { id: string }): Result<ReadableFile, Refusal> => {
  const file = findReadable(turn, id);
  if (file === null) return err(notFound("file", id));
  const read = mayRead(readerOf(turn), file, isHeldByCaller(turn, file));
  return read.ok ? ok({ ...presentFile(read.value), view: read.value.view ?? null }) : read;
};

/** The files that a caller sees: a client's are those of its key. */
const listed = (turn: Turn, purpose: string | null) => ({
  purpose,
  ofKey: turn.caller.role === "client" ? turn.caller.keyId : null,
  nowAt: turn.nowAt,
});

export const listFiles = (
  turn: Turn,
  { purpose, limit, offset }: { purpose: string | null; limit: number; offset: number },
): Result<{ files: FileResource[]; total: number }, Refusal> => {
  if (turn.caller.role === "worker") {
    const held = heldFiles(turn).filter((file) => purpose === null || file.purpose === purpose);
    return ok({ files: held.slice(offset, offset + limit).map(presentFile), total: held.length });
  }
  const asked = listed(turn, purpose);
  return ok({
    files: turn.store.files.page(asked, limit, offset).map(presentFile),
    total: turn.store.files.count(asked),
  });
};

interface FilesAfter {
  readonly purpose: string | null;
  /** A file's id; an unknown one is refused. */
  readonly after: string | null;
  readonly isAscending: boolean;
  readonly limit: number;
}

/** A page by cursor, as OpenAI's clients ask for it, and whether there are more. */
export const listFilesAfter = (
  turn: Turn,
  { purpose, after, isAscending, limit }: FilesAfter,
): Result<{ files: FileResource[]; hasMore: boolean }, Refusal> => {
  const asked = listed(turn, purpose);
  const place = after === null ? null : turn.store.files.placeOf(after);
  if (after !== null && (place === null || (asked.ofKey !== null && place.owner !== asked.ofKey)))
    return err(notFound("file", after));
  const files = turn.store.files.after(asked, { after: place, isAscending, limit: limit + 1 });
  return ok({ files: files.slice(0, limit).map(presentFile), hasMore: files.length > limit });
};

export const deleteFile = (turn: Turn, { id }: { id: string }): Result<null, Refusal> => {
  const found = findVisible(turn, id);
  if (!found.ok) return found;
  const user = [...turn.memory.batches.open.values()].find(({ fileId }) => fileId === id);
  if (user !== undefined) return err({ code: "file_in_use", id, batch: user.id });
  drop(turn, found.value);
  return ok(null);
};

/** Files past their end, and those that never arrived. */
export const endFiles = (turn: Turn): void => {
  for (const file of turn.store.files.ended(turn.nowAt, ENDED_A_SWEEP)) drop(turn, file);
};
