// What a worker's score for a job is made of; the rule of each part is in `scoring.ts`.

export const SCORE_PARTS = ["capacity", "tag_fit", "model_loaded", "success", "freshness", "cost", "tier"] as const;
export type ScorePart = (typeof SCORE_PARTS)[number];
