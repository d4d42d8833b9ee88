// The audit log.

import type { AuditList, AuditQuery } from "../audit.ts";
import { listAt } from "./listing.ts";
import type { CallOptions, QueryOf, Transport } from "./transport.ts";

export const auditVerbs = (transport: Transport) => ({
  list: (query: QueryOf<AuditQuery> = {}, options?: CallOptions) =>
    listAt(transport, "/api/audit", query, ({ entries }: AuditList) => entries, options),
});
