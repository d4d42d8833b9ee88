// Every scene.

import { SCENES_OF_THE_DOOR } from "./door.ts";
import { SCENES_OF_FILES } from "./files.ts";
import { SCENES_OF_THE_FLEET } from "./fleet.ts";
import { SCENES_OF_HALTS } from "./halts.ts";
import { SCENES_OF_JOBS } from "./jobs.ts";
import { SCENES_OF_KEYS } from "./keys.ts";
import { SCENES_OF_THE_LIVE_VIEW } from "./live-view.ts";
import { SCENES_OF_MODELS } from "./models.ts";
import { SCENES_OF_NUMBERS } from "./numbers.ts";
import { SCENES_OF_THE_QUEUE } from "./queue.ts";
import { SCENES_OF_REPORTS } from "./reports.ts";
import { SCENES_OF_ROUTING } from "./routing.ts";
import { SCENES_OF_THE_RUNNERS } from "./runners.ts";
import type { Shown } from "./scene.ts";
import { SCENES_OF_SETTINGS } from "./settings.ts";
import { SCENES_OF_SWAPPING } from "./swapping.ts";
import { SCENES_OF_THE_SWEEP } from "./sweep.ts";
import { SCENES_OF_TRIALS } from "./trials.ts";
import { SCENES_OF_WEBHOOKS } from "./webhooks.ts";
import { SCENES_OF_WORKERS } from "./workers.ts";

export const SCENES: readonly Shown[] = [
  ...SCENES_OF_JOBS,
  ...SCENES_OF_REPORTS,
  ...SCENES_OF_KEYS,
  ...SCENES_OF_THE_QUEUE,
  ...SCENES_OF_ROUTING,
  ...SCENES_OF_TRIALS,
  ...SCENES_OF_SETTINGS,
  ...SCENES_OF_WORKERS,
  ...SCENES_OF_THE_FLEET,
  ...SCENES_OF_NUMBERS,
  ...SCENES_OF_MODELS,
  ...SCENES_OF_SWAPPING,
  ...SCENES_OF_WEBHOOKS,
  ...SCENES_OF_THE_DOOR,
  ...SCENES_OF_THE_SWEEP,
  ...SCENES_OF_THE_RUNNERS,
  ...SCENES_OF_THE_LIVE_VIEW,
  ...SCENES_OF_HALTS,
  ...SCENES_OF_FILES,
];
