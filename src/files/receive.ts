// Receives a file: its room is taken in the tenant, its bytes stream to their object, the tenant learns what arrived.
// What breaks off leaves nothing: the tenant forgets it, and the object deletes what it has.

import { cleanFileName, type FileResource } from "../../contract/file.ts";
import { FILE_LIFE_MS, MAX_FILE_BYTES, RECEIVING_MS } from "../../domain/file.ts";
import type { Refusal } from "../../domain/refusal.ts";
import type { AppContext } from "../http/auth.ts";
import { randomId, type TokenFacts } from "../http/key-format.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { callTenant } from "../http/tenant.ts";
import { fileObject, storeBytes } from "./objects.ts";

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

const tooLarge: Refusal = {
  code: "file_too_large",
  limitBytes: MAX_FILE_BYTES,
  detail: `a file has at most ${MAX_FILE_BYTES} bytes: split it. Where one request may not carry as much, send it in parts (POST /v1/uploads)`,
};

export const newFileId = (): string => `file-${randomId()}`;

export const receiveFile = async (c: AppContext, token: TokenFacts, arriving: Arriving): Promise<FileResource> => {
  const { env } = c;
  const { declaredBytes, send } = arriving;
  if ((declaredBytes ?? 0) > MAX_FILE_BYTES) throw new Refused(tooLarge);
  const id = newFileId();
  const { maxBytes } = unwrap(await callTenant(env, token, "announceFile", { id, bytes: declaredBytes }));
  const file = fileObject(env, token, id);
  try {
    let stored: Awaited<ReturnType<typeof storeBytes>> = null;
    const facts = await send(async (body) => {
      stored = await storeBytes(file, body, { maxBytes, expiresAt: Date.now() + RECEIVING_MS });
      if (stored === null) throw new Refused(maxBytes < MAX_FILE_BYTES ? filesFull(maxBytes) : tooLarge);
    });
    if (stored === null) throw new Error("the request sent no bytes");
    const { bytes, sha256 } = stored as { bytes: number; sha256: string };
    const finished = unwrap(
      await callTenant(env, token, "finishFile", {
        id,
        bytes,
        sha256,
        name: cleanFileName(facts.name, id),
        contentType: CONTENT_TYPE.test(facts.contentType ?? "") ? (facts.contentType ?? OCTETS) : OCTETS,
        purpose: facts.purpose,
        lifeMs: facts.lifeMs ?? FILE_LIFE_MS.usual,
      }),
    );
    await file.keep(Date.parse(finished.expires_at));
    return finished;
  } catch (error) {
    await Promise.allSettled([callTenant(env, token, "forgetFile", { id }), file.drop()]);
    throw error;
  }
};

/** The room that was left when the file was announced. */
const filesFull = (limitBytes: number): Refusal => ({ code: "files_full", heldBytes: limitBytes, limitBytes });

export const declaredBytesOf = (c: AppContext): number | null => {
  const header = c.req.header("content-length");
  return header === undefined ? null : Number(header);
};
