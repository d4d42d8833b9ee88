// The dependencies of every catalog operation.

import type { AuditEntry } from "../../domain/words/event.ts";
import type { ProviderSet } from "./providers.ts";

export interface CatalogTools {
  readonly db: D1Database;
  readonly providers: ProviderSet;
  readonly now: () => number;
  /** The insert of an audit entry, in the same transaction as the change. */
  readonly audit: (tenant: string, entry: AuditEntry) => D1PreparedStatement;
}
