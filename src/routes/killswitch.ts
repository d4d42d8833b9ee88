// The killswitch: engage, read, clear.

import { clearKillswitchQuery, killswitchRequest, killswitchResource } from "../../contract/killswitch.ts";
import { operation } from "../endpoint/operation.ts";
import type { Endpoint } from "../endpoint/router.ts";

const BASE = { path: "/killswitch", tag: "Killswitch" } as const;
const answers = { 200: { description: "The killswitch's state.", schema: killswitchResource } } as const;

const engage = operation(
  "activateKillswitch",
  {
    ...BASE,
    method: "post",
    summary: "Engage the killswitch",
    description:
      "Levels 1 to 4 stop work, each including the lower ones; 0 does nothing. The level may be changed while active.",
    body: killswitchRequest,
    answers,
  },
  ({ body }) => body,
);

const read = operation(
  "readKillswitch",
  { ...BASE, method: "get", summary: "Read the killswitch", answers },
  () => null,
);

const clear = operation(
  "clearKillswitch",
  {
    ...BASE,
    method: "delete",
    summary: "Clear the killswitch",
    description:
      "Workers stay paused unless `resume_all=true`; workers that an operator paused stay paused in any case.",
    query: clearKillswitchQuery,
    answers,
  },
  ({ query }) => ({ resumeAll: query.resume_all === "true" }),
);

export const killswitchRoutes: readonly Endpoint[] = [engage, read, clear];
