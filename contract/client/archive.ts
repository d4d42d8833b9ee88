// The archive: its days, and all jobs of a day.

import type { ArchiveList, ArchiveQuery } from "../archive.ts";
import { listAt } from "./listing.ts";
import { type CallOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export const archiveVerbs = (transport: Transport) => ({
  /** Newest first. */
  days: (query: QueryOf<ArchiveQuery> = {}, options?: CallOptions) =>
    listAt(transport, "/api/archive", query, ({ days }: ArchiveList) => days, options),
  /** Gzip of one JSON line a job. The caller reads the answer's body. */
  export: (day: string, options?: CallOptions) =>
    transport.response({ method: "GET", path: pathOf`/api/archive/${day}`, isLong: true, options }),
});
