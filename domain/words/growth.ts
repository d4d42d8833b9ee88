// What an outsider can make grow: one row for each map, buffer, queue, table and file that a request, key, worker,
// reader, webhook or provider can make larger. A room's rows stand in its `growth.ts`, and their bounds are the
// constants that its code compares with. `test/house/growth.test.ts` reads all of them; a structure without a row is a
// defect. The bounds hold in the 128 MB of one isolate.

import type { RefusalCode } from "./refusal.ts";

type Grower = "request" | "key" | "person" | "worker" | "reader" | "webhook" | "provider" | "operator";

/** What happens where one more would exceed the bound. */
type AtTheBound =
  /** It is refused, and nothing changes. */
  | { readonly refuses: RefusalCode }
  /** Its socket is closed with this code. */
  | { readonly closes: number }
  /** It waits; `until` says for what. */
  | { readonly waits: string }
  /** Something else makes place; `drops` says what, and why nobody is misled by that. */
  | { readonly drops: string };

export interface GrowthRow {
  /** Unique in all rooms, e.g. `workers` or `frames of a data line`. */
  readonly what: string;
  /** Where it is kept: `memory.<field>`, `table <name>`, `<file>#<field>`, `folder <name>`. */
  readonly holds: readonly string[];
  readonly grownBy: Grower;
  /** The file that counts it and compares it with the bound. */
  readonly countedBy: string;
  /** The constant itself. */
  readonly bound: number;
  readonly unit: "bytes" | "characters" | "entries";
  readonly of:
    | "process"
    | "tenant"
    | "key"
    | "person"
    | "worker"
    | "job"
    | "stream"
    | "socket"
    | "address"
    | "message"
    | "batch"
    | "file"
    | "webhook";
  readonly atTheBound: AtTheBound;
  /** What makes it smaller again. */
  readonly freedBy: string;
  /** A test that fails without the bound: its file, and words of its name. */
  readonly provenBy: readonly [file: string, name: string];
}
