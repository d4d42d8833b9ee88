// The killswitch.

import type { KillswitchRequest, KillswitchResource } from "../killswitch.ts";
import type { CallOptions, Transport } from "./transport.ts";

export const killswitchVerbs = (transport: Transport) => ({
  get: (options?: CallOptions) => transport.get<KillswitchResource>("/killswitch", options),
  engage: (halt: KillswitchRequest, options?: CallOptions) =>
    transport.post<KillswitchResource>("/killswitch", halt, options, "safe"),
  clear: (query: { resume_all?: boolean | undefined } = {}, options?: CallOptions) =>
    transport.json<KillswitchResource>({ method: "DELETE", path: "/killswitch", query, repeats: "safe", options }),
});
