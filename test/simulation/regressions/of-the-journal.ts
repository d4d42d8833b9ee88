// The same for defects of the journal, and of what leaves the object.

import { joined, type Regression, step } from "./regression.ts";

export const REGRESSIONS_OF_THE_JOURNAL: readonly Regression[] = [
  {
    found: "a job that had left the table came back with the row of its creation, which was kept for a younger one",
    plan: {
      seed: 88198,
      steps: [
        joined("configure", 0.1310827, 0.89359941, 0.97326681, 0.62434148, 0.36834635),
        step("dispatch", 0.29818356, 0.19753801, 0.8764487, 0.6844983, 0.1922804),
        step("report presence", 0.74267687, 0.1681805, 0.15866252, 0.02241506, 0.23542127),
        step("make a batch", 0.12219696, 0.28984594, 0.04426974, 0.9880565, 0.984487),
        joined("patch", 0.58578571, 0.40700162, 0.72271489, 0.07002763, 0.17096899),
        step("patch", 0.15317929, 0.21348297, 0.04373771, 0.0959388, 0.40543796),
        step("create", 0.92780321, 0.99875229, 0.37222675, 0.80101351, 0.85431042),
        step("crash the object", 0.59451937, 0.03482678, 0.49685501, 0.3794783, 0.46190115),
        step("report presence", 0.07442009, 0.07181978, 0.40590033, 0.82801513, 0.92078043),
        step("a provider refuses all", 0.67418079, 0.91694617, 0.28288554, 0.53396275, 0.06650062),
        step("a provider refuses all", 0.36453162, 0.31909924, 0.05351532, 0.86964981, 0.47489196),
        step("leave and stay", 0.63258727, 0.64808088, 0.44305978, 0.68142494, 0.0994331),
        step("end a job and come back", 0.65304884, 0.16892182, 0.20922037, 0.54195524, 0.33881726),
        step("a provider refuses all", 0.50472654, 0.40304773, 0.08817406, 0.59640348, 0.91246348),
        joined("let time pass", 0.85669818, 0.68410386, 0.12131731, 0.77799576, 0.51920389),
      ],
    },
  },
];
