// The table of commands, in the order of the help.

import type { Verb } from "./verb.ts";
import { archiveCommands } from "./verbs/archive.ts";
import { auditCommand } from "./verbs/audit.ts";
import { batchCommands } from "./verbs/batches.ts";
import { catalogCommands } from "./verbs/catalog.ts";
import { completionCommand } from "./verbs/completion.ts";
import { configCommands } from "./verbs/config.ts";
import { costCommand } from "./verbs/cost.ts";
import { fileCommands } from "./verbs/files.ts";
import { jobCommands } from "./verbs/jobs.ts";
import { keyCommands } from "./verbs/keys.ts";
import { killswitchCommands } from "./verbs/killswitch.ts";
import { modelCommands } from "./verbs/models.ts";
import { moveCommands } from "./verbs/move.ts";
import { openCommand } from "./verbs/open.ts";
import { peopleCommands } from "./verbs/people.ts";
import { providerKeyCommands } from "./verbs/provider-keys.ts";
import { queueCommands } from "./verbs/queue.ts";
import { runCommand } from "./verbs/run.ts";
import { scheduleCommands } from "./verbs/schedules.ts";
import { serviceCommands } from "./verbs/service.ts";
import { statusCommands } from "./verbs/status.ts";
import { wakeCommand } from "./verbs/wake.ts";
import { webhookCommands } from "./verbs/webhooks.ts";
import { workerCommands } from "./verbs/workers.ts";

export const VERBS: readonly Verb[] = [
  ...statusCommands,
  openCommand,
  runCommand,
  ...jobCommands,
  ...archiveCommands,
  ...fileCommands,
  ...batchCommands,
  ...queueCommands,
  ...workerCommands,
  ...modelCommands,
  wakeCommand,
  ...killswitchCommands,
  ...scheduleCommands,
  ...keyCommands,
  ...peopleCommands,
  auditCommand,
  ...providerKeyCommands,
  ...configCommands,
  costCommand,
  ...catalogCommands,
  ...webhookCommands,
  ...moveCommands,
  ...serviceCommands,
  completionCommand(() => VERBS),
];
