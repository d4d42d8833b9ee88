// Whose jobs take turns among equal ones: those of each key, of each person that a key's requests name, or nobody's.

export const FAIRNESS = ["key", "user", "none"] as const;
export type Fairness = (typeof FAIRNESS)[number];
