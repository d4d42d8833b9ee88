// Converts the input of a job's form to API fields. Pure; both forms and tests use it.

import type { ExplainQuery } from "../../contract/dispatch.ts";
import type { JobResource, NewJobRequest } from "../../contract/jobs/job.ts";
import { type Priority, TIERS, type Tier } from "../../contract/words/values.ts";
import { splitTags } from "../format.ts";

export interface JobFields {
  readonly prompt: string;
  readonly input: string;
  readonly provider: string;
  readonly model: string;
  readonly priority: Priority;
  readonly tier: string;
  readonly tags: string;
}

/** The form's fields as another job or a schedule has them. */
export const fieldsLike = (
  other: Pick<JobResource, "prompt" | "input" | "provider" | "model" | "priority" | "tier" | "tags">,
): JobFields => ({
  prompt: other.prompt,
  input: other.input === null ? "" : JSON.stringify(other.input, null, 2),
  provider: other.provider ?? "",
  model: other.model ?? "",
  priority: other.priority,
  tier: other.tier ?? "",
  tags: other.tags.join(", "),
});

export const EMPTY_JOB: JobFields = {
  prompt: "",
  input: "",
  provider: "",
  model: "",
  priority: "normal",
  tier: "",
  tags: "",
};

/** The tier in a field; null for any. */
export const tierOf = (text: string): Tier | null => TIERS.find((tier) => tier === text) ?? null;

/** Why the text is not a JSON value; null if it is one, or empty. */
export const jsonError = (text: string): string | null => {
  if (text.trim() === "") return null;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `Not JSON: ${(error as Error).message}`;
  }
};

export const toBody = (fields: JobFields): NewJobRequest => ({
  prompt: fields.prompt,
  ...(fields.input.trim() === "" ? {} : { input: JSON.parse(fields.input) }),
  ...(fields.provider.trim() === "" ? {} : { provider: fields.provider.trim() }),
  ...(fields.model.trim() === "" ? {} : { model: fields.model.trim() }),
  ...(fields.tier === "" ? {} : { tier: tierOf(fields.tier) }),
  priority: fields.priority,
  tags: splitTags(fields.tags),
});

/** The part that decides who may have the job. */
export const toExplainQuery = (
  fields: Pick<JobFields, "provider" | "model" | "priority" | "tier" | "tags">,
): ExplainQuery => ({
  job_tags: splitTags(fields.tags).join(","),
  urgency: fields.priority,
  provider: fields.provider.trim(),
  model: fields.model.trim(),
  ...(fields.tier === "" ? {} : { tier: tierOf(fields.tier) ?? undefined }),
});
