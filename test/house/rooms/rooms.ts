// Every room, from the bottom up: a room imports from rows above its own. A new room is a new row; a file in no room
// fails the test. A folder inside a room is a room of its own, so that the arrows inside are guarded, too.

import { DASHBOARD_ROOMS } from "./dashboard.ts";
import { EDGE_ROOMS } from "./edge.ts";
import type { Room } from "./room.ts";
import { RULES_ROOMS } from "./rules.ts";
import { TENANT_ROOMS } from "./tenant.ts";
import { TOOLS_ROOMS } from "./tools.ts";
import { WORKER_ROOMS } from "./worker.ts";

export const ROOMS: readonly Room[] = [
  ...RULES_ROOMS,
  ...TENANT_ROOMS,
  ...WORKER_ROOMS,
  ...EDGE_ROOMS,
  ...DASHBOARD_ROOMS,
  ...TOOLS_ROOMS,
];
