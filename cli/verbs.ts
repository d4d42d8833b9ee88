// The table of commands, in the order of the help.

import type { Verb } from "./verb.ts";
import { administrationCommands } from "./verbs/administration.ts";
import { catalogCommands } from "./verbs/catalog.ts";
import { fleetCommands } from "./verbs/fleet.ts";
import { jobCommands } from "./verbs/jobs.ts";
import { moveCommands } from "./verbs/move.ts";
import { queueCommands } from "./verbs/queue.ts";
import { runCommand } from "./verbs/run.ts";
import { scheduleCommands } from "./verbs/schedules.ts";
import { serviceCommands } from "./verbs/service.ts";

export const VERBS: readonly Verb[] = [
  runCommand,
  ...jobCommands,
  ...queueCommands,
  ...fleetCommands,
  ...scheduleCommands,
  ...administrationCommands,
  ...catalogCommands,
  ...moveCommands,
  ...serviceCommands,
];
