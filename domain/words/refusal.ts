// Every way the service refuses, with the facts. `contract/refusal.ts` maps each code to HTTP; a missing code does not
// compile. Messages say what to change and never contain a secret.

import type { Api } from "./api.ts";
import type { JobStatus } from "./job-status.ts";
import type { WorkerVerdict } from "./verdict.ts";

export interface FieldError {
  /** Dotted path of the offending field, e.g. `jobs.3.tags.0`; empty for the body itself. */
  readonly path: string;
  readonly message: string;
}

export type ResourceKind =
  | "job"
  | "worker"
  | "key"
  | "schedule"
  | "subscription"
  | "provider"
  | "route"
  | "tenant"
  | "webhook"
  | "delivery"
  | "file"
  | "upload"
  | "batch"
  | "response"
  | "item"
  | "person"
  | "model task"
  | "archived day";

export type Refusal =
  | { readonly code: "invalid_request"; readonly detail: string; readonly errors: readonly FieldError[] }
  | { readonly code: "authentication_failed"; readonly detail: string }
  | { readonly code: "key_revoked" }
  | { readonly code: "key_rotated" }
  | { readonly code: "key_suspended"; readonly detail: string }
  | { readonly code: "forbidden"; readonly detail: string }
  | {
      readonly code: "not_found";
      readonly kind: ResourceKind;
      readonly id: string;
      /** What brings it about, where that is not plain. */
      readonly hint?: string;
      /** For a job: when the tenant's object did not have it, by the object's clock. History may have it. */
      readonly absentAt?: number;
    }
  | { readonly code: "method_not_allowed"; readonly allow: readonly string[] }
  | { readonly code: "payload_too_large"; readonly limitBytes: number }
  | { readonly code: "uri_too_long"; readonly limitBytes: number }
  | { readonly code: "headers_too_large"; readonly limitBytes: number }
  | { readonly code: "unsupported_media_type"; readonly expected: string }
  | { readonly code: "request_timeout"; readonly afterMs: number }
  | { readonly code: "upgrade_required" }
  | { readonly code: "job_completed"; readonly id: string }
  | { readonly code: "texts_gone"; readonly id: string }
  | { readonly code: "job_archived"; readonly id: string }
  /** `part`: `<day>/<name>`. It is missing, or does not unpack. */
  | { readonly code: "archive_damaged"; readonly part: string }
  | { readonly code: "job_state"; readonly id: string; readonly status: JobStatus; readonly command: string }
  | {
      readonly code: "lease_lost";
      readonly id: string;
      readonly lease: number;
      readonly current: number;
      /** The job's status; null if only the lease was checked. */
      readonly status: JobStatus | null;
    }
  | { readonly code: "too_many_workers"; readonly limit: number }
  | { readonly code: "too_many_offers"; readonly limitBytes: number }
  | { readonly code: "too_many_keys"; readonly limit: number; readonly limitChars: number }
  | { readonly code: "too_many_schedules"; readonly limit: number; readonly limitChars: number }
  | { readonly code: "count_changed"; readonly expected: number; readonly matched: number }
  | { readonly code: "worker_not_offline"; readonly instance: string }
  | { readonly code: "instance_taken"; readonly instance: string }
  | { readonly code: "last_admin_key"; readonly id: string }
  | { readonly code: "key_inactive"; readonly id: string }
  | { readonly code: "tenant_exists"; readonly tenant: string }
  | { readonly code: "tenant_moved"; readonly to: string }
  | { readonly code: "batches_under_way"; readonly count: number }
  | { readonly code: "schedule_exists"; readonly name: string }
  | { readonly code: "subscription_exists"; readonly provider: string }
  | { readonly code: "sync_in_progress"; readonly id: string }
  | { readonly code: "etag_mismatch"; readonly current: string }
  | { readonly code: "idempotency_key_reused"; readonly key: string }
  | { readonly code: "rate_limited"; readonly retryAfterSeconds: number }
  | {
      readonly code: "rate_limit_exceeded";
      readonly detail: string;
      readonly retryAfterSeconds: number;
      /** null: another limit than requests per minute. */
      readonly requestsPerMinute: number | null;
      /** Set if it is that limit. */
      readonly tokensPerMinute: number | null;
    }
  | { readonly code: "too_many_groups"; readonly limit: number; readonly retryAfterSeconds: number }
  | { readonly code: "tenant_full"; readonly maxGb: number }
  | { readonly code: "insufficient_quota"; readonly detail: string }
  | { readonly code: "model_not_found"; readonly model: string; readonly known: readonly string[] }
  | { readonly code: "api_not_offered"; readonly api: Api }
  | { readonly code: "unsupported_parameter"; readonly parameter: string; readonly detail: string }
  | { readonly code: "queue_timeout"; readonly detail: string }
  | { readonly code: "stream_gone" }
  | { readonly code: "reader_gone" }
  | { readonly code: "too_many_readers"; readonly limit: number }
  | { readonly code: "provider_failed"; readonly detail: string }
  | { readonly code: "no_eligible_workers"; readonly detail: string; readonly workers: readonly WorkerVerdict[] }
  | { readonly code: "killswitch_active"; readonly level: number; readonly reason: string }
  | { readonly code: "budget_reached"; readonly detail: string; readonly retryAfterSeconds: number }
  | { readonly code: "history_backlog"; readonly retryAfterSeconds: number }
  | { readonly code: "history_unavailable"; readonly retryAfterSeconds: number }
  | {
      readonly code: "files_full";
      readonly of: "tenant" | "key";
      readonly count: number;
      readonly maxCount: number;
      readonly heldBytes: number;
      readonly limitBytes: number;
    }
  | { readonly code: "file_too_large"; readonly limitBytes: number; readonly detail: string }
  | { readonly code: "result_too_large"; readonly limitBytes: number; readonly detail: string }
  | { readonly code: "result_file_unknown"; readonly id: string; readonly jobId: string }
  | { readonly code: "file_in_use"; readonly id: string; readonly batch: string }
  | { readonly code: "batch_state"; readonly id: string; readonly status: string; readonly command: string }
  | {
      readonly code: "too_many_batches";
      readonly of: "tenant" | "key";
      readonly limit: number;
      readonly areEnded: boolean;
      readonly retryAfterSeconds: number;
    }
  | { readonly code: "models_not_managed"; readonly instance: string }
  | {
      readonly code: "action_not_supported";
      readonly instance: string;
      readonly action: string;
      readonly can: readonly string[];
    }
  | { readonly code: "task_over"; readonly id: string; readonly status: string }
  | { readonly code: "too_many_model_tasks"; readonly limit: number; readonly retryAfterSeconds: number }
  | { readonly code: "range_not_satisfiable"; readonly bytes: number }
  | { readonly code: "storage_full"; readonly retryAfterSeconds: number }
  | {
      readonly code: "tenant_unavailable";
      readonly retryAfterSeconds: number;
      /** Its rows are being copied to another deployment, or from one. */
      readonly isMoving?: true;
    }
  | {
      readonly code: "overloaded";
      readonly retryAfterSeconds: number;
      /** Not the tenant is, but the process of the edge, which serves many. */
      readonly isProcess?: true;
    };

export type RefusalCode = Refusal["code"];
export type RefusalOf<Code extends RefusalCode> = Extract<Refusal, { code: Code }>;

export const invalid = (path: string, message: string): RefusalOf<"invalid_request"> => ({
  code: "invalid_request",
  detail: path === "" ? message : `${path}: ${message}`,
  errors: [{ path, message }],
});

export const HISTORY_UNAVAILABLE: RefusalOf<"history_unavailable"> = {
  code: "history_unavailable",
  retryAfterSeconds: 5,
};

export const notFound = (kind: ResourceKind, id: string): RefusalOf<"not_found"> => ({ code: "not_found", kind, id });
