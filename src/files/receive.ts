// Receives a file: its room is taken in the tenant, its bytes go to their object, the tenant learns what arrived.
// What breaks off leaves nothing: the tenant forgets it, and the object deletes what it has.

import type { FileResource } from "../../contract/file.ts";
import { FILE_LIFE_MS, MAX_FILE_BYTES } from "../../domain/file/file.ts";
import type { AppContext } from "../http/auth.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { publicOrigin } from "../http/public-address.ts";
import { Refused } from "../http/refused.ts";
import { callTenant } from "../tenant/tenant.ts";
import { type Arriving, type FileFacts, type Place, type Receiver, Reception } from "./reception.ts";

export const receive = (
  c: AppContext,
  token: TokenFacts,
  arriving: Arriving,
  receiver: Receiver,
): Promise<FileResource> => receiveAt({ env: c.env, name: token, origin: publicOrigin(c) }, arriving, receiver);

export const receiveAt = async (place: Place, arriving: Arriving, receiver: Receiver): Promise<FileResource> => {
  const { tooLarge } = receiver;
  if ((arriving.declaredBytes ?? 0) > tooLarge.limitBytes) throw new Refused(tooLarge);
  const reception = new Reception(place, arriving, receiver);
  try {
    await reception.begin();
    const facts = await arriving.send((body) => reception.take(body));
    return await reception.finish(facts);
  } catch (error) {
    await reception.abandon();
    throw error;
  }
};

const tooLarge = {
  code: "file_too_large",
  limitBytes: MAX_FILE_BYTES,
  detail: `a file has at most ${MAX_FILE_BYTES} bytes: split it. Where one request may not carry as much, send it in parts (POST /v1/uploads)`,
} as const;

const lifeOf = ({ lifeMs }: FileFacts): number => lifeMs ?? FILE_LIFE_MS.usual;

/** A file of the caller's own. */
export const receiveFile = ({ env }: AppContext, token: TokenFacts): Receiver => ({
  tooLarge,
  lifeMs: lifeOf,
  announce: (file) => callTenant(env, token, "announceFile", file),
  finish: (arrived, facts) =>
    callTenant(env, token, "finishFile", { ...arrived, purpose: facts.purpose, lifeMs: lifeOf(facts) }),
  forget: (id) => callTenant(env, token, "forgetFile", { id }),
});

export const declaredBytesOf = (c: AppContext): number | null => {
  const header = c.req.header("content-length");
  return header === undefined ? null : Number(header);
};
