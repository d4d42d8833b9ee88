// The killswitch: engage, look, clear.

import { clearKillswitchQuery, killswitchRequest, killswitchResource } from "../../contract/killswitch.ts";
import { answer } from "../http/answer.ts";
import { asks } from "../http/asks.ts";
import { unwrap } from "../http/refused.ts";
import { type Endpoint, endpoint } from "../http/router.ts";
import { callTenant } from "../http/tenant.ts";

const BASE = { path: "/killswitch", tag: "Killswitch" } as const;
const answers = { 200: { description: "The state now.", schema: killswitchResource } } as const;

const activate = endpoint(
  {
    ...BASE,
    ...asks("activateKillswitch"),
    method: "post",
    summary: "Stop everything",
    description:
      "Levels 1 to 4, each doing what the one before does, too; 0 does nothing. May be raised or lowered while active.",
    body: killswitchRequest,
    answers,
  },
  async (c, { body, token }) => {
    return answer(c, unwrap(await callTenant(c.env, token, "activateKillswitch", body)));
  },
);

const read = endpoint(
  { ...BASE, ...asks("readKillswitch"), method: "get", summary: "The killswitch now", answers },
  async (c, { token }) => {
    return answer(c, unwrap(await callTenant(c.env, token, "readKillswitch", null)));
  },
);

const clear = endpoint(
  {
    ...BASE,
    ...asks("clearKillswitch"),
    method: "delete",
    summary: "Clear the killswitch",
    description: "Workers stay paused unless `resume_all=true`; one paused by hand stays paused in any case.",
    query: clearKillswitchQuery,
    answers,
  },
  async (c, { query, token }) => {
    const request = { resumeAll: query.resume_all === "true" };
    return answer(c, unwrap(await callTenant(c.env, token, "clearKillswitch", request)));
  },
);

export const killswitchRoutes: readonly Endpoint[] = [activate, read, clear];
