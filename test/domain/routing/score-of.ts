// The score of parts, as the explanation shows them: what the choice computes by slot must be the same.

import { type PartWeights, rounded } from "../../../domain/routing/scoring.ts";
import type { Parts } from "../../../domain/words/verdict.ts";

export const scoreOf = (parts: Parts, weights: PartWeights): number => {
  const names = Object.keys(parts) as (keyof Parts)[];
  return rounded(names.reduce((sum, part) => sum + (parts[part] ?? 0) * (weights[part] ?? 0), 0));
};
