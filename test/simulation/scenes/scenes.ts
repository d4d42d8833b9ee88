// Every scene.

import type { Shown } from "./scene.ts";
import { SCENES_OF_HALTS } from "./scenes-of-halts.ts";
import { SCENES_OF_JOBS } from "./scenes-of-jobs.ts";
import { SCENES_OF_KEYS } from "./scenes-of-keys.ts";
import { SCENES_OF_MODELS } from "./scenes-of-models.ts";
import { SCENES_OF_NUMBERS } from "./scenes-of-numbers.ts";
import { SCENES_OF_REPORTS } from "./scenes-of-reports.ts";
import { SCENES_OF_ROUTING } from "./scenes-of-routing.ts";
import { SCENES_OF_SETTINGS } from "./scenes-of-settings.ts";
import { SCENES_OF_SWAPPING } from "./scenes-of-swapping.ts";
import { SCENES_OF_THE_DOOR } from "./scenes-of-the-door.ts";
import { SCENES_OF_THE_FLEET } from "./scenes-of-the-fleet.ts";
import { SCENES_OF_THE_LIVE_VIEW } from "./scenes-of-the-live-view.ts";
import { SCENES_OF_THE_QUEUE } from "./scenes-of-the-queue.ts";
import { SCENES_OF_THE_RUNNERS } from "./scenes-of-the-runners.ts";
import { SCENES_OF_THE_SWEEP } from "./scenes-of-the-sweep.ts";
import { SCENES_OF_TRIALS } from "./scenes-of-trials.ts";
import { SCENES_OF_WEBHOOKS } from "./scenes-of-webhooks.ts";
import { SCENES_OF_WORKERS } from "./scenes-of-workers.ts";

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
];
