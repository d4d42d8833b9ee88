// Runs that once found a defect of batches, or of what the simulation expects of them.

import { joined, type Regression, step } from "./regression.ts";

export const REGRESSIONS_OF_BATCHES: readonly Regression[] = [
  {
    found: "the lines of a batch that come at once took more of a provider's max_concurrent than there was",
    plan: {
      seed: 120340,
      steps: [
        joined("report presence", 0.61432555, 0.20404231, 0.09890704, 0.51806113, 0.13576457),
        step("configure", 0.26536826, 0.58912163, 0.02518162, 0.82158626, 0.84311036),
        step("make a batch", 0.14938501, 0.72492627, 0.53721307, 0.49805278, 0.7029824),
      ],
    },
  },
  {
    found: "a batch's line whose answer has a megabyte of quotes could never be completed",
    plan: {
      seed: 70000274,
      steps: [
        joined("report presence", 0.44422426, 0.440668, 0.38362998, 0.38560363, 0.52040322),
        step("make a batch", 0.34043537, 0.18065408, 0.0456924, 0.01173727, 0.81019537),
        step("claim", 0.37706922, 0.10741076, 0.22552907, 0.43633486, 0.91340193),
        step("complete at length", 0.46826698, 0.81488615, 0.61437181, 0.91707995, 0.97137946),
      ],
    },
  },
  {
    found: "the simulation expected lines to run at once where a reload had forgotten their provider's rate limit",
    plan: {
      seed: 40043,
      steps: [
        step("make a batch", 0.1047536670230329, 0.4401743079070002, 0.30428776, 0.557616, 0.51423153),
        step("report presence", 0.1715446854941547, 0.08482632599771023, 0.55727128, 0.17314697, 0.96056773),
        step("a provider refuses all", 0.1738853449933231, 0.756854654289782, 0.96974, 0.66212575, 0.69326497),
        step("deploy the object", 0.3068378253374249, 0.08005644474178553, 0.89551011, 0.62023224, 0.12897315),
        joined("cancel", 0.8834182086866349, 0.8954529578331858, 0.40388671, 0.6129685, 0.9270461),
        step(
          "change the weather of history",
          0.15605901088565588,
          0.6042008518707007,
          0.15296285,
          0.26187846,
          0.53320032,
        ),
      ],
    },
  },
];
