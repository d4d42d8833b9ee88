// Access to the objects with the bytes of files. A file's id tells in which object they lie.

import { OK, PAYLOAD_TOO_LARGE } from "../../contract/words/http-status.ts";
import { isShelved, newFileId, newShelvedId } from "../../domain/file/file.ts";
import {
  type BatchView,
  readUrl,
  type StoredBytes,
  WHOLE,
  type WriteRequest,
  writeUrl,
} from "../../durable-objects/files/file-request.ts";
import { ROW_BYTES } from "../../durable-objects/files/rows.ts";
import type { StoredFile } from "../../durable-objects/files/stored-file.ts";
import { fileName, linesName, objectNamed } from "../../durable-objects/object-name.ts";
import type { Env } from "../env.ts";
import { randomId } from "../http/key-format.ts";
import { Refused } from "../http/refused.ts";
import type { TenantName } from "../tenant/tenant-object.ts";
import { isSelfHosted } from "../tenant/tenant-object.ts";

type FileObject = Pick<StoredFile, "assemble" | "assembleShelved" | "drop" | "dropShelved" | "keep" | "keepShelved"> & {
  /** In Node an answer has no more than this. */
  readonly fetch: (url: string, init?: RequestInit) => Promise<Pick<Response, "status" | "body" | "text">>;
};

/** A file of a tenant. */
export interface FileAt {
  readonly env: Env;
  readonly name: TenantName;
  readonly id: string;
}

const objectOf = ({ env, name }: Omit<FileAt, "id">, object: string): FileObject => {
  const jurisdiction = isSelfHosted(env) ? null : name.jurisdiction;
  return objectNamed(env.FILES, object, jurisdiction);
};

/** Of a file that will have so many bytes. */
export const newIdOf = (bytes: number): string =>
  bytes < ROW_BYTES ? newShelvedId(randomId()) : newFileId(randomId());

const bytesObject = (at: FileAt): FileObject => objectOf(at, fileName(at.name.tenant, at.id));

type StoreLimits = Pick<WriteRequest, "maxBytes" | "expiresAt">;

/** null: there is more than `maxBytes`, and nothing is kept. */
export const storeBytes = async (
  at: FileAt,
  body: ReadableStream<Uint8Array> | null,
  { segment = WHOLE, maxBytes, maxTotalBytes = maxBytes, expiresAt }: Partial<WriteRequest> & StoreLimits,
): Promise<StoredBytes | null> => {
  const url = writeUrl({ id: at.id, segment, maxBytes, maxTotalBytes, expiresAt });
  const stored = await bytesObject(at).fetch(url, { method: "PUT", body });
  if (stored.status === PAYLOAD_TOO_LARGE) return null;
  if (stored.status !== OK) throw new Error(`the file's object answered ${stored.status}`);
  return JSON.parse(await stored.text()) as StoredBytes;
};

/** The bytes of a file that is smaller than a row, to an object that small files share. */
export const shelve = async (
  at: FileAt,
  bytes: Uint8Array<ArrayBuffer>,
  expiresAt: number,
): Promise<Pick<StoredBytes, "bytes" | "sha256">> => {
  const limits = { maxBytes: ROW_BYTES, expiresAt };
  const stored = await storeBytes(at, bytes.byteLength === 0 ? null : new Blob([bytes]).stream(), limits);
  if (stored === null) throw new Error("the file's object took no row");
  return stored;
};

export const keepBytes = (at: FileAt, expiresAt: number): Promise<void> =>
  isShelved(at.id) ? bytesObject(at).keepShelved(at.id, expiresAt) : bytesObject(at).keep(expiresAt);

export const dropBytes = (at: FileAt): Promise<void> =>
  isShelved(at.id) ? bytesObject(at).dropShelved([at.id]) : bytesObject(at).drop();

/** Far more than a file has steps: other parts completed at the same time make each other begin again. */
const MAX_STEPS = 64;

/** Asks until the object has read the whole file, a bounded part each time; answers as `StoredFile.assemble`. */
export const assemble = async (
  at: FileAt,
  ...asked: Parameters<StoredFile["assemble"]>
): Promise<StoredBytes | number | null> => {
  for (let count = 0; count < MAX_STEPS; count += 1) {
    const object = bytesObject(at);
    const found = await (isShelved(at.id) ? object.assembleShelved(at.id, ...asked) : object.assemble(...asked));
    if (found !== "more") return found;
  }
  throw new Refused({ code: "overloaded", retryAfterSeconds: 1 });
};

/** For a range whose end is not known. */
export const TO_THE_END: number = Number.MAX_SAFE_INTEGER;

/** With a view, not the file is read, but what a batch made of its lines. */
export const readBytes = async (
  at: FileAt,
  from: number,
  to: number,
  view: BatchView | null = null,
): Promise<ReadableStream<Uint8Array>> => {
  const object = view === null ? bytesObject(at) : objectOf(at, linesName(at.name.tenant, at.id));
  const { status, body } = await object.fetch(readUrl({ id: at.id, from, to, view }));
  if (status !== OK || body === null) throw new Error(`the file's object answered ${status}`);
  return body;
};
