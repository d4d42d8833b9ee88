// The killswitch: engage, read, clear.

import { clearKillswitchQuery, killswitchRequest, killswitchResource } from "../../contract/killswitch.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { askAndAnswer } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";

const BASE = { path: "/killswitch", tag: "Killswitch" } as const;
const answers = { 200: { description: "The killswitch's state.", schema: killswitchResource } } as const;

const engage = endpoint(
  {
    ...BASE,
    ...asks("activateKillswitch"),
    method: "post",
    summary: "Engage the killswitch",
    description:
      "Levels 1 to 4 stop work, each including the lower ones; 0 does nothing. The level may be changed while active.",
    body: killswitchRequest,
    answers,
  },
  (c, { body, token }) => askAndAnswer(c, token, "activateKillswitch", body),
);

const read = endpoint(
  { ...BASE, ...asks("readKillswitch"), method: "get", summary: "Read the killswitch", answers },
  (c, { token }) => askAndAnswer(c, token, "readKillswitch", null),
);

const clear = endpoint(
  {
    ...BASE,
    ...asks("clearKillswitch"),
    method: "delete",
    summary: "Clear the killswitch",
    description:
      "Workers stay paused unless `resume_all=true`; workers that an operator paused stay paused in any case.",
    query: clearKillswitchQuery,
    answers,
  },
  (c, { query, token }) => askAndAnswer(c, token, "clearKillswitch", { resumeAll: query.resume_all === "true" }),
);

export const killswitchRoutes: readonly Endpoint[] = [engage, read, clear];
