// What the edge's own process gives it where that is not the platform's: self-hosted, Node stands in front of workerd.
// On Cloudflare, and where workerd serves alone, there is none of it.

import type { Context } from "hono";
import type { Lane } from "./lanes.ts";

export interface Home {
  /** Has the app in workerd answer the request, as it came: for what needs a binding that Node lacks. */
  readonly passOn: (c: Context) => Promise<Response>;
  /** Whether every process that holds tenants answers. */
  readonly isWhole: () => boolean;
  readonly disk: () => Disk;
  /** Where the request came from. */
  readonly addressOf: (c: Context) => string;
  /** Resolves when it is the tenant's turn; what it answers ends the turn. */
  readonly takeTurn: (tenant: string, lane: Lane) => Promise<() => void>;
}

/** The file system that holds the data. */
export interface Disk {
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** `low`: time to act. `full`: what is left serves reads, reports and the killswitch. */
  readonly state: "ok" | "low" | "full";
}
