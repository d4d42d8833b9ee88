// The parts of a worker's score for a job; the rules are in `scoring.ts`.

export const SCORE_PARTS = ["capacity", "tag_fit", "model_loaded", "success", "freshness", "cost", "tier"] as const;
export type ScorePart = (typeof SCORE_PARTS)[number];
