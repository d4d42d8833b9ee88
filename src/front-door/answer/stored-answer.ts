// An answer that its worker stored, because no report carries it: it is over 1 MiB, or not JSON. It passes from the
// file's object to the client, and is deleted once delivered; what nobody fetches ends within an hour.

import { readBytes } from "../../files/objects.ts";
import type { AppContext } from "../../http/auth.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { callTenant } from "../../tenant/tenant.ts";
import { writtenBody } from "./written-body.ts";

export interface StoredAnswer {
  readonly contentType: string;
  readonly body: ReadableStream<Uint8Array>;
}

/**
 * null: it is no longer there. `isKept`: a repeated request may ask for it again, so it stays for its hour.
 */
export const openStoredAnswer = async (
  c: AppContext,
  token: TokenFacts,
  id: string,
  isKept: boolean,
): Promise<StoredAnswer | null> => {
  const found = await callTenant(c.env, token, "readFile", { id });
  if (!found.ok) return null;
  const { bytes, content_type: contentType } = found.value;
  const source = await readBytes({ env: c.env, name: token, id }, 0, bytes);
  const body = writtenBody();
  const drop = async (): Promise<void> => {
    if (!isKept) await callTenant(c.env, token, "deleteFile", { id });
  };
  // What ends too early breaks the client's connection, too.
  const done = body.pipe(source, {}).catch(() => undefined);
  c.executionCtx.waitUntil(done.then(drop).catch(() => undefined));
  return { contentType, body: body.readable };
};
