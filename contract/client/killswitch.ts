// The killswitch.

import type { KillswitchRequest, KillswitchResource } from "../killswitch.ts";
import type { CallOptions, Transport } from "./transport.ts";

export const killswitchVerbs = (transport: Transport) => ({
  get: (options?: CallOptions) => transport.json<KillswitchResource>({ method: "GET", path: "/killswitch", options }),
  engage: (halt: KillswitchRequest, options?: CallOptions) =>
    transport.json<KillswitchResource>({
      method: "POST",
      path: "/killswitch",
      body: halt,
      repeats: "safe",
      options,
    }),
  clear: (query: { resume_all?: boolean | undefined } = {}, options?: CallOptions) =>
    transport.json<KillswitchResource>({ method: "DELETE", path: "/killswitch", query, repeats: "safe", options }),
});
