// The audit log.

import type { AuditList, AuditQuery } from "../audit.ts";
import { listing } from "./listing.ts";
import type { CallOptions, QueryOf, Transport } from "./transport.ts";

export const auditVerbs = (transport: Transport) => ({
  list: (query: QueryOf<AuditQuery> = {}, options?: CallOptions) =>
    listing(
      query,
      (asked) => transport.json<AuditList>({ method: "GET", path: "/api/audit", query: asked, options }),
      ({ entries }) => entries,
    ),
});
