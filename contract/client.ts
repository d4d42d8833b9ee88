// The typed client of the API, used by dashboard, CLI, SDK, scripts and tests. It imports the schemas as types only, so
// it bundles without zod.

import { archiveVerbs } from "./client/archive.ts";
import { auditVerbs } from "./client/audit.ts";
import { batchVerbs } from "./client/batches.ts";
import { catalogVerbs } from "./client/catalog.ts";
import { configVerbs } from "./client/config.ts";
import { costVerbs } from "./client/cost.ts";
import { fileVerbs } from "./client/files.ts";
import { frontDoorVerbs } from "./client/front-door.ts";
import { jobVerbs } from "./client/jobs.ts";
import { keyVerbs } from "./client/keys.ts";
import { killswitchVerbs } from "./client/killswitch.ts";
import { modelVerbs } from "./client/models.ts";
import { peopleVerbs, signInVerbs } from "./client/people.ts";
import { providerKeyVerbs } from "./client/provider-keys.ts";
import { scheduleVerbs } from "./client/schedules.ts";
import { serviceVerbs } from "./client/service.ts";
import { sessionVerbs } from "./client/session.ts";
import { tenantVerbs } from "./client/tenants.ts";
import { type ClientOptions, Transport } from "./client/transport.ts";
import { webhookVerbs } from "./client/webhooks.ts";
import { workerVerbs } from "./client/workers.ts";

export const clientOver = (transport: Transport) => ({
  frontDoor: frontDoorVerbs(transport),
  jobs: jobVerbs(transport),
  files: fileVerbs(transport),
  archive: archiveVerbs(transport),
  batches: batchVerbs(transport),
  workers: workerVerbs(transport),
  models: modelVerbs(transport),
  killswitch: killswitchVerbs(transport),
  schedules: scheduleVerbs(transport),
  catalog: catalogVerbs(transport),
  cost: costVerbs(transport),
  config: configVerbs(transport),
  webhooks: webhookVerbs(transport),
  keys: keyVerbs(transport),
  providerKeys: providerKeyVerbs(transport),
  tenants: tenantVerbs(transport),
  audit: auditVerbs(transport),
  people: peopleVerbs(transport),
  signIn: signInVerbs(transport),
  session: sessionVerbs(transport),
  service: serviceVerbs(transport),
});

export type Client = ReturnType<typeof clientOver>;

/** Every method throws ApiProblem if the answer is not a success. */
export const createClient = (options: ClientOptions): Client => clientOver(new Transport(options));
