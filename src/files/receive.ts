// Receives a file: its room is taken in the tenant, its bytes stream to their object, the tenant learns what arrived.
// What breaks off leaves nothing: the tenant forgets it, and the object deletes what it has.

import { cleanFileName, type FileResource } from "../../contract/file.ts";
import { FILE_LIFE_MS, MAX_FILE_BYTES, RECEIVING_MS } from "../../domain/file/file.ts";
import type { Refusal, RefusalOf } from "../../domain/words/refusal.ts";
import type { Result } from "../../domain/words/result.ts";
import type { StoredBytes } from "../../durable-objects/files/file-request.ts";
import { rowsOf } from "../../durable-objects/files/rows.ts";
import type { Announced, NewFile } from "../../durable-objects/operations/files/files.ts";
import type { Env } from "../env.ts";
import type { AppContext } from "../http/auth.ts";
import { randomId, type TokenFacts } from "../http/key-format.ts";
import { publicOrigin } from "../http/public-address.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { callTenant } from "../tenant/tenant.ts";
import { fileObject, storeBytes } from "./objects.ts";
import { sendOn, takingRoom } from "./send-on.ts";

/** What the request says of the file, in a query or in a form's fields. */
export interface FileFacts {
  readonly name: string | null;
  readonly contentType: string | null;
  readonly purpose: string | null;
  readonly lifeMs: number | null;
}

export interface Arriving {
  /** null: unknown. */
  readonly declaredBytes: number | null;
  /** Sends the bytes on by `store`, once; answers what the request says of the file. */
  readonly send: (store: (body: ReadableStream<Uint8Array> | null) => Promise<void>) => Promise<FileFacts>;
}

const OCTETS = "application/octet-stream";
const CONTENT_TYPE = /^[A-Za-z0-9!#$&^_.+-]{1,64}\/[A-Za-z0-9!#$&^_.+-]{1,64}(\s*;[\x20-\x7e]{1,128})?$/;

export const newFileId = (): string => `file-${randomId()}`;

/** What is known of bytes that have arrived. */
export interface Arrived {
  readonly id: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly name: string;
  readonly contentType: string;
}

/** Who takes the file: how large it may be, and what the tenant gets. */
export interface Receiver {
  readonly tooLarge: RefusalOf<"file_too_large" | "result_too_large">;
  readonly announce: (file: NewFile) => Promise<Result<Announced, Refusal>>;
  readonly finish: (arrived: Arrived, facts: FileFacts) => Promise<Result<FileResource, Refusal>>;
  readonly forget: (id: string) => Promise<unknown>;
}

/** Where a file goes, and the address at which its bytes came. */
interface Place {
  readonly env: Env;
  readonly name: Pick<TokenFacts, "tenant" | "jurisdiction">;
  readonly origin: string;
}

export const receive = (
  c: AppContext,
  token: TokenFacts,
  arriving: Arriving,
  receiver: Receiver,
): Promise<FileResource> => receiveAt({ env: c.env, name: token, origin: publicOrigin(c) }, arriving, receiver);

export const receiveAt = async (
  { env, name, origin }: Place,
  arriving: Arriving,
  receiver: Receiver,
): Promise<FileResource> => {
  const { declaredBytes, send } = arriving;
  const { tooLarge, announce, finish, forget } = receiver;
  if ((declaredBytes ?? 0) > tooLarge.limitBytes) throw new Refused(tooLarge);
  const id = newFileId();
  const announced = async (bytes: number | null): Promise<Announced> => unwrap(await announce({ id, bytes, origin }));
  const { maxBytes } = await announced(declaredBytes);
  const file = fileObject(env, name, id);
  try {
    const stored: StoredBytes[] = [];
    const facts = await send(async (body) => {
      const limits = { maxBytes: Math.min(maxBytes, tooLarge.limitBytes), expiresAt: Date.now() + RECEIVING_MS };
      const store = (all: typeof body) => storeBytes(file, all, limits);
      const isTold = declaredBytes !== null || body === null;
      const bytes = await (isTold ? store(body) : sendOn(takingRoom(rowsOf(body), limits.maxBytes, announced), store));
      if (bytes === null) throw new Refused(maxBytes < tooLarge.limitBytes ? filesFull(maxBytes) : tooLarge);
      stored.push(bytes);
    });
    const [one] = stored;
    if (one === undefined) throw new Error("the request sent no bytes");
    const contentType = CONTENT_TYPE.test(facts.contentType ?? "") ? (facts.contentType ?? OCTETS) : OCTETS;
    const { bytes, sha256 } = one;
    const arrived = { id, bytes, sha256, name: cleanFileName(facts.name, id), contentType };
    const finished = unwrap(await finish(arrived, facts));
    await file.keep(Date.parse(finished.expires_at));
    return finished;
  } catch (error) {
    await Promise.allSettled([forget(id), file.drop()]);
    throw error;
  }
};

const tooLarge = {
  code: "file_too_large",
  limitBytes: MAX_FILE_BYTES,
  detail: `a file has at most ${MAX_FILE_BYTES} bytes: split it. Where one request may not carry as much, send it in parts (POST /v1/uploads)`,
} as const;

/** A file of the caller's own. */
export const receiveFile = ({ env }: AppContext, token: TokenFacts): Receiver => ({
  tooLarge,
  announce: (file) => callTenant(env, token, "announceFile", file),
  finish: (arrived, { purpose, lifeMs }) =>
    callTenant(env, token, "finishFile", { ...arrived, purpose, lifeMs: lifeMs ?? FILE_LIFE_MS.usual }),
  forget: (id) => callTenant(env, token, "forgetFile", { id }),
});

/** The room that was left when the file was announced. */
const filesFull = (limitBytes: number): Refusal => ({ code: "files_full", heldBytes: limitBytes, limitBytes });

export const declaredBytesOf = (c: AppContext): number | null => {
  const header = c.req.header("content-length");
  return header === undefined ? null : Number(header);
};
