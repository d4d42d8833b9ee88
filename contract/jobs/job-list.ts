// Lists of jobs: one filter for the list, for bulk changes and for the dashboard's saved views.

import * as z from "zod";
import {
  CLEAN_TEXT,
  count,
  digits,
  instanceName,
  instant,
  isCleanText,
  label,
  listQuery,
  MAX_METADATA_PAIRS,
  modelName,
  ownBatchId,
  page,
  providerName,
} from "../words/field.ts";
import { jobResource, jobStatus, metadataName, metadataValue } from "./job.ts";

/** Counting stops here; a longer list is marked as capped. */
export const MAX_COUNTED = 10_000;
export const JOB_SORTS = ["created_at", "finished_at", "cost_usd"] as const;
export type JobSort = (typeof JOB_SORTS)[number];

/** Keeps a page of jobs within memory: longer values are shortened, and the job says which. */
export const MAX_LISTED_CHARS = 16_384;

const METADATA_PREFIX = "metadata.";

const filterFields = {
  status: jobStatus.optional(),
  provider: providerName.optional().meta({ description: "the provider that the job asked for or that ran it" }),
  ran_provider: providerName.optional(),
  model: modelName.optional().meta({ description: "the model that the job asked for or that ran it" }),
  tag: z.string().max(64).optional(),
  schedule: z.string().max(64).optional(),
  batch: z.string().max(64).overwrite(ownBatchId).optional().meta({ description: "the batch that it is a line of" }),
  worker: instanceName.optional(),
  key: z.string().max(64).optional().meta({ description: "the id of the key that created it" }),
  error_code: label(64).optional().meta({ description: "the error's code or HTTP status, e.g. 500" }),
  unpriced: z
    .enum(["true", "false"])
    .optional()
    .meta({ description: "true: only jobs with an attempt of unknown cost, which `unpriced_jobs` of the cost counts" }),
  unpriced_since: instant.optional().meta({
    description: "its first attempt of unknown cost ended at this time or later, which is when the cost counts it",
  }),
  unpriced_until: instant.optional().meta({ description: "its first attempt of unknown cost ended before this time" }),
  since: instant.optional().meta({ description: "created at this time or later" }),
  until: instant.optional().meta({ description: "created before this time" }),
  q: z.string().min(1).max(200).refine(isCleanText, CLEAN_TEXT).optional().meta({
    description:
      "the beginning of an id, beginnings of words in the prompt or the error, or an error's whole code. A single letter or digit that begins more than 512 different words finds only itself",
  }),
};

/** Adds `metadata.<name>` to the fields of the shape; any other unknown name is refused, as in a strict object. */
const withMetadata = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z
    .object(shape)
    .catchall(z.any())
    .superRefine((given, ctx) => {
      if (metadataOf(given).length > MAX_METADATA_PAIRS)
        ctx.addIssue({ code: "custom", path: ["metadata"], message: `must have at most ${MAX_METADATA_PAIRS} pairs` });
      for (const [name, value] of Object.entries(given)) {
        if (Object.hasOwn(shape, name)) continue;
        if (!name.startsWith(METADATA_PREFIX)) {
          ctx.addIssue({ code: "unrecognized_keys", keys: [name], input: given });
        } else if (!metadataName.safeParse(name.slice(METADATA_PREFIX.length)).success) {
          ctx.addIssue({ code: "custom", path: [name], message: "metadata names have 1 to 64 characters" });
        } else if (!metadataValue.safeParse(value).success) {
          ctx.addIssue({ code: "custom", path: [name], message: "must be text of at most 256 characters" });
        }
      }
    });

export const jobFilter = withMetadata(filterFields).meta({
  id: "JobFilter",
  description: "The filter of `GET /api/jobs`; `metadata.<name>` finds jobs by a pair of their metadata.",
});

export const jobListQuery = withMetadata({
  ...listQuery,
  ...filterFields,
  sort: z
    .enum([...JOB_SORTS, ...JOB_SORTS.map((name) => `-${name}` as const)])
    .default("created_at")
    .meta({
      description:
        "newest or most expensive first; with `-` before the name: oldest or cheapest first. Jobs without the value come last. By end or cost, matches beyond the 250,000 newest may be missing (the oldest, where the oldest end is first): narrow the list with `since` and `until`",
    }),
  archived: z.enum(["true", "false"]).default("false").meta({
    description:
      "true: lists the archive instead, newest first. A page may have fewer jobs than `limit`, and `total` counts its own: go on until `next_cursor` is null",
  }),
  count_only: z.enum(["true"]).optional().meta({ description: "only how many match, and no jobs; not of the archive" }),
  cursor: z
    .string()
    .max(512)
    .optional()
    .meta({ description: "`next_cursor` of the previous page; works beyond offset 10 000" }),
  max_chars: digits(0, MAX_LISTED_CHARS).default(MAX_LISTED_CHARS).meta({
    description:
      "characters after which a prompt is cut; a longer input or result is left out; `truncated` lists what was shortened",
  }),
});

export const jobList = z
  .object({
    jobs: z.array(jobResource),
    ...page,
    total_is_capped: z
      .boolean()
      .meta({ description: `true if there are more than ${MAX_COUNTED} jobs, where counting stops` }),
    next_cursor: z.string().nullable().meta({ description: "null on the last page" }),
    damaged_parts: z.array(z.string()).optional().meta({
      description:
        "parts of the archive that are missing or damaged, as `<day>/<name>`: the list lacks their jobs. Absent if there are none",
    }),
  })
  .meta({ id: "JobList" });

export const MAX_BULK_JOBS = 1_000;
const BULK_ACTIONS = ["retry", "cancel"] as const;
export type BulkAction = (typeof BULK_ACTIONS)[number];

export const bulkRequest = z
  .strictObject({
    action: z.enum(BULK_ACTIONS),
    filter: jobFilter,
    expected: count.optional().meta({
      description:
        "the number of jobs that must match; if another number matches, the call is refused with `count_changed`",
    }),
    dry_run: z.boolean().optional().meta({
      description: "true: changes nothing. `remaining` is how many may be changed, `refused` how many would not be",
    }),
  })
  .meta({ id: "BulkRequest" });

export const bulkReport = z
  .object({
    matched: count,
    changed: count,
    refused: z.record(z.string(), count).meta({ description: "number of refused jobs by refusal code" }),
    remaining: count.meta({ description: "jobs not handled in this call: call again" }),
  })
  .meta({ id: "BulkReport" });

/** The named fields of a loose object, and its metadata fields. */
type AndMetadata<T> = { [Name in keyof T as string extends Name ? never : Name]: T[Name] } & {
  readonly [name: `metadata.${string}`]: string | undefined;
};

export type JobFilter = AndMetadata<z.infer<typeof jobFilter>>;
/** The fixed names of a filter, beside `metadata.<name>`. */
export type JobFilterName = Exclude<keyof JobFilter, `metadata.${string}`>;
export type JobListQuery = AndMetadata<z.infer<typeof jobListQuery>>;
export type JobList = z.infer<typeof jobList>;
export type BulkRequest = Omit<z.infer<typeof bulkRequest>, "filter"> & { readonly filter: JobFilter };
export type BulkReport = z.infer<typeof bulkReport>;

/** The metadata pairs of a filter. */
export const metadataOf = (filter: Readonly<Record<string, unknown>>): [name: string, value: string][] =>
  Object.entries(filter)
    .filter(([name, value]) => name.startsWith(METADATA_PREFIX) && typeof value === "string")
    .map(([name, value]) => [name.slice(METADATA_PREFIX.length), value as string]);
