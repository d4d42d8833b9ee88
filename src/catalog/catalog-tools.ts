// What every verb of the catalog takes.

import type { AuditEntry } from "../../domain/event.ts";
import type { ProviderSet } from "./providers.ts";

export interface CatalogTools {
  readonly db: D1Database;
  readonly providers: ProviderSet;
  readonly now: () => number;
  /** The insert of an audit line; it runs in the same transaction as the change that it tells of. */
  readonly audit: (tenant: string, entry: AuditEntry) => D1PreparedStatement;
}
