// Files: their records, their bytes, and links to them.

import type { FileLink, FileList, FileListQuery, FileResource, NewLinkRequest } from "../file.ts";
import { listAt } from "./listing.ts";
import { type CallOptions, pathOf, type QueryOf, RawBody, type Transport } from "./transport.ts";

export interface NewFileOptions extends CallOptions {
  readonly name?: string | undefined;
  readonly purpose?: string | undefined;
  /** One hour to 30 days, which is the default. */
  readonly expiresAfterSeconds?: number | undefined;
}

export interface ReadFileOptions extends CallOptions {
  /** As in HTTP: `bytes=0-1023`. */
  readonly range?: string | undefined;
}

const ANY_BYTES = "application/octet-stream";

export const fileVerbs = (transport: Transport) => ({
  /** Its media type is that of `bytes`. Node's `openAsBlob` reads a file while it is sent. */
  create: (bytes: Blob, { name, purpose, expiresAfterSeconds, ...options }: NewFileOptions = {}) =>
    transport.json<FileResource>({
      method: "POST",
      path: "/api/files",
      query: { name, purpose, expires_after_seconds: expiresAfterSeconds },
      body: new RawBody(bytes, bytes.type || ANY_BYTES),
      isLong: true,
      options,
    }),
  list: (query: QueryOf<FileListQuery> = {}, options?: CallOptions) =>
    listAt(transport, "/api/files", query, ({ files }: FileList) => files, options),
  get: (id: string, options?: CallOptions) => transport.get<FileResource>(pathOf`/api/files/${id}`, options),
  /** The caller reads the answer's body. */
  content: (id: string, { range, ...options }: ReadFileOptions = {}) =>
    transport.response({
      method: "GET",
      path: pathOf`/api/files/${id}/content`,
      headers: { range },
      isLong: true,
      options,
    }),
  /** An address that needs no key, for an hour unless `seconds` says otherwise. */
  link: (id: string, request: NewLinkRequest = {}, options?: CallOptions) =>
    transport.post<FileLink>(pathOf`/api/files/${id}/link`, request, options),
  remove: (id: string, options?: CallOptions) => transport.remove(pathOf`/api/files/${id}`, options),
});
