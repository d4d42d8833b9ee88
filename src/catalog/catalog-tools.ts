// The dependencies of every catalog operation.

import type { ProviderSet } from "./providers.ts";

export interface CatalogTools {
  readonly db: D1Database;
  readonly providers: ProviderSet;
  readonly now: () => number;
}
