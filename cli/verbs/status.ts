// `status` and `top`: is it well, once and live.

import { loginOf } from "../login.ts";
import { statusOf } from "../status.ts";
import type { Verb } from "../verb.ts";
import { isWell, SIGN } from "../verdict.ts";

const status: Verb = {
  name: "status",
  says: "Shows whether it is well: killswitch, workers, queue, waits, errors, cost against budget",
  examples: ["status", "status --json", "status > /dev/null || echo look"],
  run: async ({ client, env, output, signal }) => {
    const { url } = loginOf(env);
    const { tenant } = await client().session.get({ signal });
    if (output.isForPeople) output.say(`Tenant ${tenant} at ${url}`);
    const checks = await statusOf(client(), { signal });
    const ok = isWell(checks);
    output.table({ ok, url, tenant, checks }, checks, [
      { title: "what", of: ({ what }) => what },
      { title: "", of: ({ verdict }) => SIGN[verdict] },
      { title: "found", of: ({ says }) => says, wraps: true },
    ]);
    return ok ? 0 : 1;
  },
};

export const statusCommands: readonly Verb[] = [status];
