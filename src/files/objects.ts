// Access to the objects with the bytes of files.

import { OK, PAYLOAD_TOO_LARGE } from "../../contract/words/http-status.ts";
import {
  type BatchView,
  readUrl,
  type StoredBytes,
  WHOLE,
  type WriteRequest,
  writeUrl,
} from "../../durable-objects/files/file-request.ts";
import type { StoredFile } from "../../durable-objects/files/stored-file.ts";
import { fileName, objectNamed } from "../../durable-objects/object-name.ts";
import type { Env } from "../env.ts";
import { Refused } from "../http/refused.ts";
import type { TenantName } from "../tenant/tenant-object.ts";
import { isSelfHosted } from "../tenant/tenant-object.ts";

type FileObject = Pick<StoredFile, "assemble" | "drop" | "keep"> & {
  /** In Node an answer has no more than this. */
  readonly fetch: (url: string, init?: RequestInit) => Promise<Pick<Response, "status" | "body" | "text">>;
};

/** The stub's own types wrap every answer a second time. */
export const fileObject = (env: Env, name: TenantName, id: string): FileObject => {
  const jurisdiction = isSelfHosted(env) ? null : name.jurisdiction;
  return objectNamed(env.FILES, fileName(name.tenant, id), jurisdiction) as unknown as FileObject;
};

type StoreLimits = Pick<WriteRequest, "maxBytes" | "expiresAt">;

/** null: there is more than `maxBytes`, and nothing is kept. */
export const storeBytes = async (
  file: FileObject,
  body: ReadableStream<Uint8Array> | null,
  { segment = WHOLE, maxBytes, maxTotalBytes = maxBytes, expiresAt }: Partial<WriteRequest> & StoreLimits,
): Promise<StoredBytes | null> => {
  const stored = await file.fetch(writeUrl({ segment, maxBytes, maxTotalBytes, expiresAt }), { method: "PUT", body });
  if (stored.status === PAYLOAD_TOO_LARGE) return null;
  if (stored.status !== OK) throw new Error(`the file's object answered ${stored.status}`);
  return JSON.parse(await stored.text()) as StoredBytes;
};

/** Far more than a file has steps: other parts completed at the same time make each other begin again. */
const MAX_STEPS = 64;

/** Asks until the object has read the whole file, a bounded part each time; answers as `StoredFile.assemble`. */
export const assemble = async (
  file: FileObject,
  ...asked: Parameters<StoredFile["assemble"]>
): Promise<StoredBytes | number | null> => {
  for (let count = 0; count < MAX_STEPS; count += 1) {
    const found = await file.assemble(...asked);
    if (found !== "more") return found;
  }
  throw new Refused({ code: "overloaded", retryAfterSeconds: 1 });
};

export const readBytes = async (
  file: FileObject,
  from: number,
  to: number,
  view: BatchView | null = null,
): Promise<ReadableStream<Uint8Array>> => {
  const { status, body } = await file.fetch(readUrl({ from, to, view }));
  if (status !== OK || body === null) throw new Error(`the file's object answered ${status}`);
  return body;
};
