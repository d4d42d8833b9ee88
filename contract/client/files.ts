// Files. Bytes stream both ways: an upload is a body that `fetch` takes, a download an answer whose body is read.

import type { FileLink, FileList, FileResource } from "../file.ts";
import { listing, type PageQuery } from "./listing.ts";
import { type Bytes, type CallOptions, pathOf, type QueryOf, RawBody, type Transport } from "./transport.ts";

export interface PutFileOptions extends CallOptions {
  readonly name?: string | undefined;
  /** Its media type; of a `Blob` that has one, the Blob's. */
  readonly type?: string | undefined;
  readonly purpose?: string | undefined;
  readonly expiresAfterSeconds?: number | undefined;
}

export interface LinkOptions extends CallOptions {
  /** How long it lasts: at most a day. */
  readonly seconds?: number | undefined;
}

const OCTETS = "application/octet-stream";

export const fileVerbs = (transport: Transport) => ({
  /** Stores a file of at most 512 MiB. Tried once, because a stream cannot be sent again. */
  put: (
    bytes: Bytes,
    { name, type, purpose, expiresAfterSeconds, ...options }: PutFileOptions = {},
  ): Promise<FileResource> =>
    transport.json<FileResource>({
      method: "POST",
      path: "/api/files",
      query: { name, purpose, expires_after_seconds: expiresAfterSeconds },
      body: new RawBody(bytes, type ?? ((bytes instanceof Blob && bytes.type) || OCTETS)),
      options,
    }),
  list: (query: QueryOf<PageQuery & { purpose: string }> = {}, options?: CallOptions) =>
    listing(
      query,
      (asked) => transport.json<FileList>({ method: "GET", path: "/api/files", query: asked, options }),
      ({ files }) => files,
    ),
  get: (id: string, options?: CallOptions) =>
    transport.json<FileResource>({ method: "GET", path: pathOf`/api/files/${id}`, options }),
  /** The bytes, as the answer's body. */
  content: (id: string, options?: CallOptions) =>
    transport.response({ method: "GET", path: pathOf`/api/files/${id}/content`, options }),
  remove: (id: string, options?: CallOptions) =>
    transport.nothing({ method: "DELETE", path: pathOf`/api/files/${id}`, options }),
  /** An address that needs no key. */
  link: (id: string, { seconds, ...options }: LinkOptions = {}) =>
    transport.json<FileLink>({
      method: "POST",
      path: pathOf`/api/files/${id}/link`,
      body: seconds === undefined ? {} : { seconds },
      options,
    }),
});
