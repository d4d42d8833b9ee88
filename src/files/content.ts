// A file's bytes as an answer: always a download, never a page of this host, whatever the file is.

import { NOT_MODIFIED, OK, PARTIAL_CONTENT } from "../../contract/words/http-status.ts";
import type { ReadableFile } from "../../durable-objects/operations/files/files.ts";
import type { AppContext } from "../http/auth.ts";
import { headersFor } from "../http/headers.ts";
import { unwrap } from "../http/refused.ts";
import type { TenantName } from "../tenant/tenant-object.ts";
import { readBytes } from "./objects.ts";
import { rangeOf } from "./range.ts";

/** RFC 6266: the plain name for old clients, the exact one beside it. */
const disposition = (name: string): string => {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, "_");
  const exact = encodeURIComponent(name).replaceAll(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
};

export const sendContent = async (c: AppContext, name: TenantName, file: ReadableFile): Promise<Response> => {
  const etag = `"${file.sha256}"`;
  const headers = headersFor(c.get("requestId"), {
    etag,
    "accept-ranges": "bytes",
    "content-type": file.content_type,
    "content-disposition": disposition(file.name),
    "content-security-policy": "sandbox",
  });
  const known = c.req.header("if-none-match");
  if (known?.trim() === "*" || known?.includes(etag) === true)
    return new Response(null, { status: NOT_MODIFIED, headers });
  const isOfThis = c.req.header("if-range") === undefined || c.req.header("if-range") === etag;
  const range = isOfThis ? unwrap(rangeOf(c.req.header("range"), file.bytes)) : null;
  const { from, to } = range ?? { from: 0, to: file.bytes };
  if (range !== null) headers["content-range"] = `bytes ${from}-${to - 1}/${file.bytes}`;
  const status = range === null ? OK : PARTIAL_CONTENT;
  if (c.req.method === "HEAD" || to === from) {
    headers["content-length"] = String(to - from);
    return new Response(null, { status, headers });
  }
  const { view } = file;
  const bytes = await readBytes({ env: c.env, name, id: view?.fileId ?? file.id }, from, to, view);
  // A declared length: what breaks off does not look whole.
  return new Response(bytes.pipeThrough(new FixedLengthStream(to - from)), { status, headers });
};
