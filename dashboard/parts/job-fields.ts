// What is typed into a job's form, and what it becomes on the wire. Pure, so that both forms and tests share it.

import { splitTags } from "../format.ts";

export const PRIORITIES = ["low", "normal", "high", "critical"] as const;
export const TIERS = ["economy", "standard", "premium"] as const;
export type Priority = (typeof PRIORITIES)[number];

export interface JobFields {
  readonly prompt: string;
  readonly input: string;
  readonly provider: string;
  readonly model: string;
  readonly priority: Priority;
  readonly tier: string;
  readonly tags: string;
}

export const EMPTY_JOB: JobFields = {
  prompt: "",
  input: "",
  provider: "",
  model: "",
  priority: "normal",
  tier: "",
  tags: "",
};

/** Why the text is no JSON value; null where it is one, or empty. */
export const jsonError = (text: string): string | null => {
  if (text.trim() === "") return null;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `Not JSON: ${(error as Error).message}`;
  }
};

export const toBody = (fields: JobFields): Record<string, unknown> => ({
  prompt: fields.prompt,
  ...(fields.input.trim() === "" ? {} : { input: JSON.parse(fields.input) }),
  ...(fields.provider.trim() === "" ? {} : { provider: fields.provider.trim() }),
  ...(fields.model.trim() === "" ? {} : { model: fields.model.trim() }),
  ...(fields.tier === "" ? {} : { tier: fields.tier }),
  priority: fields.priority,
  tags: splitTags(fields.tags),
});

/** The part of it that decides who may have the job. */
export const toExplainQuery = (fields: Pick<JobFields, "provider" | "model" | "priority" | "tier" | "tags">) => ({
  job_tags: splitTags(fields.tags).join(","),
  urgency: fields.priority,
  provider: fields.provider.trim(),
  model: fields.model.trim(),
  tier: fields.tier,
});
