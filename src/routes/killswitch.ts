// The killswitch: engage, read, clear.

import { clearKillswitchQuery, killswitchRequest, killswitchResource } from "../../contract/killswitch.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { answer } from "../http/answer.ts";
import { unwrap } from "../http/refused.ts";
import { asks } from "../tenant/asks.ts";
import { callTenantForText } from "../tenant/tenant.ts";

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
  async (c, { body, token }) => {
    return answer(c, unwrap(await callTenantForText(c.env, token, "activateKillswitch", body)));
  },
);

const read = endpoint(
  { ...BASE, ...asks("readKillswitch"), method: "get", summary: "Read the killswitch", answers },
  async (c, { token }) => {
    return answer(c, unwrap(await callTenantForText(c.env, token, "readKillswitch", null)));
  },
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
  async (c, { query, token }) => {
    const request = { resumeAll: query.resume_all === "true" };
    return answer(c, unwrap(await callTenantForText(c.env, token, "clearKillswitch", request)));
  },
);

export const killswitchRoutes: readonly Endpoint[] = [engage, read, clear];
