// The entry: requests to the app, the minute's cron to what belongs to no single tenant.

import { app } from "./app.ts";
import type { Env } from "./env.ts";
import { runMinute } from "./minute.ts";

export { StoredFile } from "../durable-objects/files/stored-file.ts";
export { Relay } from "../durable-objects/relay/relay.ts";
export { Tenant } from "../durable-objects/tenant.ts";
export { PrivateDoor } from "./private-door.ts";
export { Runner } from "./runner/runner.ts";

export default {
  fetch: app.fetch,

  async scheduled(_controller, env) {
    await runMinute(env);
  },
} satisfies ExportedHandler<Env>;
