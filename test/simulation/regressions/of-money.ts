// Runs that once found a defect of what work costs.

import { type Regression, step } from "./regression.ts";

export const REGRESSIONS_OF_MONEY: readonly Regression[] = [
  {
    found: "history showed what an attempt cost on a job that was cancelled after that report, the object did not",
    plan: {
      seed: 71,
      steps: [
        step("report presence", 0.5702325261663646, 0.7959663923829794, 0.03744033, 0.88697783, 0.70753337),
        step("ask for a stored answer", 0.5492120541166514, 0.1385385408066213, 0.24514323, 0.35229204, 0.9490023),
        step("claim", 0.7355993390083313, 0.005643370794132352, 0.24054962, 0.71414627, 0.12710317),
        step("start", 0.5329401073977351, 0.9299799480941147, 0.76756087, 0.83314736, 0.54520094),
        step("let time pass", 0.9580990185495466, 0.4889769672881812, 0.0972380128223449, 0.77767597, 0.3510922),
        step("a provider refuses all", 0.20262368116527796, 0.013825826812535524, 0.59586967, 0.84839704, 0.83040855),
        step("end a stored answer", 0.4318640341516584, 0.30253136018291116, 0.52842818, 0.76234812, 0.59344402),
        step("set the clock ahead", 0.3664721418172121, 0.5718614552170038, 0.42693905, 0.21050189, 0.09106258),
      ],
    },
  },
];
