// What a worker reports about its jobs, over HTTP and over the socket, with the same fields.

import * as z from "zod";
import { MAX_LARGE_RESULT_BYTES } from "../../domain/file/file.ts";
import type { ReportedFailure } from "../../domain/job/failure.ts";
import type { Usage } from "../../domain/job/job.ts";
import { fileId } from "../file.ts";
import { startOf } from "../text/start-of.ts";
import { count, json, jsonWithin, label, MAX_PROGRESS_BYTES, usd } from "../words/field.ts";
import { reportedUsage, toUsage } from "./usage.ts";

export const lease = count;
const firstTokenMs = z
  .int()
  .min(0)
  .nullish()
  .meta({ description: "milliseconds from the call to the runtime until the first event with content" });
const MAX_MESSAGE_CHARS = 8192;
/** Of a longer one its beginning: a worker with a long trace has no other way to say that its job failed. */
const errorMessage = z.string().overwrite((text) => startOf(text, MAX_MESSAGE_CHARS));

export const reportedError = z
  .strictObject({
    code: label(64),
    message: errorMessage,
    status: z.int().min(100).max(599).nullish(),
    retryable: z.boolean().optional().meta({ description: "default: whether `status` is 408, 429 or 5xx" }),
    retry_after_seconds: z.number().min(0).max(86_400).nullish(),
  })
  .meta({ id: "ReportedError" });

/** What failed in a worker's own trial of its runtime: an error as in a report, or its text. */
export const triedFields = { ok: z.boolean(), error: z.union([reportedError, errorMessage]).nullish() };

export const startFields = { lease };
export const heartbeatFields = { lease, progress: jsonWithin(MAX_PROGRESS_BYTES).optional() };
export const completeFields = {
  lease,
  result: json.optional().meta({ description: "required, unless `result_file` is given" }),
  result_file: fileId.nullish().meta({ description: "a result over 1 MiB, stored by `PUT …/result` before" }),
  result_bytes: count.max(MAX_LARGE_RESULT_BYTES).nullish().meta({
    description:
      "the size of a client's streamed answer, over 1 MiB or sound: its events were all, and it has no other result",
  }),
  usage: reportedUsage.nullish(),
  cost_usd: usd.nullish(),
  model: label(256).nullish(),
  first_token_ms: firstTokenMs,
};
const usageEstimated = z
  .boolean()
  .nullish()
  .meta({ description: "the attempt was cut before its runtime told its counts: `usage` is an estimate" });

export const failFields = {
  lease,
  error: reportedError,
  usage: reportedUsage.nullish(),
  usage_estimated: usageEstimated,
  cost_usd: usd.nullish(),
  first_token_ms: firstTokenMs,
};
export const spentFields = {
  lease,
  usage: reportedUsage.nullish(),
  usage_estimated: usageEstimated,
  cost_usd: usd.nullish(),
};
export const releaseFields = { lease, reason: label(500) };

/** A missing result is a mistake, not a result that is null; two results are one, too. */
export const givesResult = (report: { result?: unknown } & Elsewhere): boolean => {
  const elsewhere = Number(report.result_file != null) + Number(report.result_bytes != null);
  return elsewhere === 0 ? report.result !== undefined : elsewhere === 1 && report.result == null;
};
export const RESULT_MISSING = {
  path: ["result"],
  message: "give one of result, result_file and result_bytes, and no other",
};

export const startRequest = z.strictObject(startFields).meta({ id: "Start" });
export const heartbeatRequest = z.strictObject(heartbeatFields).meta({ id: "JobHeartbeat" });
export const completeRequest = z
  .strictObject(completeFields)
  .refine(givesResult, RESULT_MISSING)
  .meta({ id: "Complete", examples: [{ lease: 1, result: { text: "Hello." } }] });
export const failRequest = z.strictObject(failFields).meta({ id: "Fail" });
export const releaseRequest = z.strictObject(releaseFields).meta({ id: "Release" });

export type StartRequest = z.infer<typeof startRequest>;
export type HeartbeatRequest = z.infer<typeof heartbeatRequest>;
export type CompleteRequest = z.infer<typeof completeRequest>;
export type FailRequest = z.infer<typeof failRequest>;
export type ReleaseRequest = z.infer<typeof releaseRequest>;
export type ReportedErrorBody = z.infer<typeof reportedError>;

/** Usage and cost of a report, as the rules take them. */
export const toSpent = (body: {
  usage?: z.infer<typeof reportedUsage> | null | undefined;
  usage_estimated?: boolean | null | undefined;
  cost_usd?: number | null | undefined;
  model?: string | null | undefined;
  first_token_ms?: number | null | undefined;
}): {
  usage: Usage | null;
  isEstimate: boolean;
  costUsd: number | null;
  model: string | null;
  firstTokenMs: number | null;
} => ({
  usage: body.usage == null ? null : toUsage(body.usage),
  isEstimate: body.usage_estimated ?? false,
  costUsd: body.cost_usd ?? null,
  model: body.model ?? null,
  firstTokenMs: body.first_token_ms ?? null,
});

interface Elsewhere {
  readonly result_file?: string | null | undefined;
  readonly result_bytes?: number | null | undefined;
}

/** Where the result of a report is, if that is not the report. */
export const resultElsewhere = ({ result_file, result_bytes }: Elsewhere) => ({
  resultFile: result_file ?? null,
  streamedBytes: result_bytes ?? null,
});

const isRetryableStatus = (status: number): boolean => status === 408 || status === 429 || status >= 500;

/** A reported error. If the worker does not say whether it is retryable, the status decides. */
export const toReportedFailure = (body: ReportedErrorBody): ReportedFailure => ({
  error: {
    code: body.code,
    message: body.message,
    ...(body.status == null ? {} : { status: body.status }),
    retryable: body.retryable ?? (body.status == null ? false : isRetryableStatus(body.status)),
  },
  retryAfterMs: body.retry_after_seconds == null ? null : Math.ceil(body.retry_after_seconds * 1000),
});
