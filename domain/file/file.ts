// Files: bytes that a tenant stores beside its jobs. The tenant's object knows each file's size, owner and end. The bytes
// lie elsewhere: a large file's in an object of its own, those of small files in a few that they share; the id tells
// which. Invariant: what is stored and what is being received never exceed the tenant's bound, and a file past its end
// is not there.

import type { Role } from "../access/key.ts";
import { CLIENT_SHARE } from "../words/client-share.ts";
import { DAY_MS, HOUR_MS } from "../words/duration.ts";
import { notFound, type Refusal } from "../words/refusal.ts";
import { err, ok, type Result } from "../words/result.ts";
import { MIB } from "../words/size.ts";

export const MAX_FILE_BYTES = 512 * MIB;
/** A part of an upload, as OpenAI's clients send them. */
export const MAX_PART_BYTES = 64 * MIB;
/** More than an upload is completed with; what was sent again counts, too. */
export const MAX_PARTS = 4_000;
export const MAX_JOB_FILES = 16;
export const MAX_RESULT_FILES = 64;
/** A result that is larger than a row. */
export const MAX_LARGE_RESULT_BYTES = 64 * MIB;
/** The purpose of a file that is a job's result. */
export const RESULT_PURPOSE = "result";
/** Records of a tenant, those being received included. */
export const MAX_FILES = 100_000;
/** `answer`: of a client's request, until it is delivered. */
export const FILE_LIFE_MS = {
  shortest: HOUR_MS,
  usual: 30 * DAY_MS,
  longest: 30 * DAY_MS,
  output: 7 * DAY_MS,
  answer: HOUR_MS,
};
/** A body that has not arrived whole by then is given up. */
export const RECEIVING_MS = HOUR_MS;
export const LINK_SECONDS = { usual: 3_600, longest: 86_400 };

export interface FileRecord {
  readonly id: string;
  readonly name: string;
  readonly contentType: string;
  readonly purpose: string | null;
  /** Bytes stored; while it is received, the bytes announced (0 if unknown). */
  readonly bytes: number;
  /** Hex; null while it is received. */
  readonly sha256: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** The key that stored it. */
  readonly keyId: string | null;
  /** The key whose file it is: of a job's output, the key that made the job. */
  readonly ownerKeyId: string | null;
  /** The job that it is an output of. */
  readonly jobId: string | null;
  /** The address at which the coordinator was called, for links. */
  readonly origin: string;
  /** It comes, or came, in parts: what was announced. */
  readonly upload: UploadFacts | null;
  /** It is what a batch made of another file; its bytes lie there. */
  readonly view?: FileView;
}

/** One of a batch's two files, in the object of its input. */
export interface FileView {
  readonly fileId: string;
  readonly batch: string;
  readonly form: "out" | "err";
}

export interface UploadFacts {
  readonly bytes: number;
  readonly name: string;
  readonly contentType: string;
  readonly purpose: string | null;
  readonly lifeMs: number;
  /** No part of it was sent, so that there is no object to be ended. */
  readonly isEmpty?: boolean;
}

/** Whether something of it may lie in an object. */
export const mayHaveBytes = ({ upload }: Pick<FileRecord, "upload">): boolean => upload?.isEmpty !== true;

/** The beginning of the id of a file on a shelf. */
const SHELVED = "file-s_";

export const newFileId = (random: string): string => `file-${random}`;

export const newShelvedId = (random: string): string => `${SHELVED}${random}`;

/** Whether its bytes lie in an object that small files share. */
export const isShelved = (id: string): boolean => id.startsWith(SHELVED);

/** A file that can be read: all of its bytes are there, and its end has not come. */
export const isReadable = (file: FileRecord, nowAt: number): boolean => file.sha256 !== null && file.expiresAt > nowAt;

export interface FileReader {
  readonly role: Role;
  readonly keyId: string | null;
}

/**
 * Everyone sees what their role sees of jobs, a worker the files of jobs that it holds. What a caller may not see does
 * not exist.
 */
export const maySee = ({ role, keyId }: FileReader, file: FileRecord, isHeldByCaller: boolean): boolean => {
  const sees: Record<Role, boolean> = {
    admin: true,
    standard: true,
    viewer: true,
    worker: isHeldByCaller,
    client: keyId !== null && file.ownerKeyId === keyId,
  };
  return sees[role];
};

const VIEWERS_SEE_RECORDS: Refusal = {
  code: "forbidden",
  detail: "a viewer sees a file's record, not its bytes: this needs a key with role admin, standard or client",
};

export const mayRead = (reader: FileReader, file: FileRecord, isHeldByCaller: boolean): Result<FileRecord, Refusal> => {
  if (!maySee(reader, file, isHeldByCaller)) return err(notFound("file", file.id));
  return reader.role === "viewer" ? err(VIEWERS_SEE_RECORDS) : ok(file);
};

/** What a tenant's files take, those being received included. */
export interface FilesHeld {
  readonly count: number;
  readonly bytes: number;
}

/** What a file's room is taken from. */
export interface FilesRoom {
  readonly of: "tenant" | "key";
  readonly count: number;
  readonly maxCount: number;
  readonly heldBytes: number;
  readonly limitBytes: number;
}

export const roomOf = (of: FilesRoom["of"], { count, bytes }: FilesHeld, maxBytes: number): FilesRoom => {
  const share = of === "key" ? CLIENT_SHARE : 1;
  return { of, count, maxCount: share * MAX_FILES, heldBytes: bytes, limitBytes: Math.floor(share * maxBytes) };
};

export const fits = (room: FilesRoom, bytes: number): Result<null, Refusal> =>
  room.count >= room.maxCount || room.heldBytes + bytes > room.limitBytes
    ? err({ code: "files_full", ...room })
    : ok(null);
