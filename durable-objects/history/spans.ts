// A finished job as spans (OTLP/HTTP JSON, OpenTelemetry's GenAI conventions): the job, and for each attempt its time
// in the queue and its run. Made from the stored timeline, so tracing costs nothing while a job runs. Spans never
// contain a prompt, an input or a result.

import { isSampled, ownTraceOf, readTraceparent } from "../../contract/text/traceparent.ts";
import { endsAttempt } from "../../domain/job/attempt.ts";
import type { Job } from "../../domain/job/job.ts";
import { entryOf } from "../../domain/words/entry-of.ts";
import type { JobEvent, JobEventType } from "../../domain/words/event.ts";

export interface TimelineEvent {
  readonly at: number;
  readonly type: JobEventType;
  readonly worker: string | null;
  /** Of an assignment: its worker's. */
  readonly provider?: string | null;
  /** Of an attempt's end: its error's. */
  readonly code?: string | null;
}

type AttributeValue = string | number | boolean | null | undefined;

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly object[];
  readonly status: { readonly code: number; readonly message?: string };
}

/** SpanKind and StatusCode of OTLP. */
const KIND = { internal: 1, server: 2, client: 3 } as const;
const STATUS = { ok: 1, error: 2 } as const;
const SPAN_ID_CHARS = 16;

/** The operation's name in the conventions; an ordinary job is a chat. */
const OPERATION: Readonly<Record<string, string>> = { completions: "text_completion", embeddings: "embeddings" };
/** Providers that the conventions call by another name. */
const PROVIDER: Readonly<Record<string, string>> = {
  gemini: "gcp.gemini",
  google: "gcp.gemini",
  mistral: "mistral_ai",
};

const nano = (at: number): string => `${at}000000`;

const attribute = ([key, value]: [string, AttributeValue]): object[] => {
  if (value === null || value === undefined) return [];
  if (typeof value === "boolean") return [{ key, value: { boolValue: value } }];
  if (typeof value === "string") return [{ key, value: { stringValue: value } }];
  return [{ key, value: Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } }];
};

export const attributes = (given: Readonly<Record<string, AttributeValue>>): object[] =>
  Object.entries(given).flatMap(attribute);

const operationOf = (job: Job): string => OPERATION[job.api ?? ""] ?? "chat";

const runAttributes = (job: Job, provider: string | null, isLast: boolean) => ({
  "gen_ai.operation.name": operationOf(job),
  "gen_ai.provider.name": entryOf(PROVIDER, provider ?? "") ?? provider,
  "gen_ai.request.model": job.model,
  "gen_ai.request.stream": job.stream,
  "gen_ai.response.model": isLast && job.status === "completed" ? job.ranModel : null,
  "gen_ai.usage.input_tokens": isLast ? job.usage?.inputTokens : null,
  "gen_ai.usage.output_tokens": isLast ? job.usage?.outputTokens : null,
  "gen_ai.usage.cache_read.input_tokens": isLast ? job.usage?.cachedInputTokens : null,
  "gen_ai.usage.reasoning.output_tokens": isLast ? job.usage?.reasoningTokens : null,
  "gen_ai.response.time_to_first_chunk":
    isLast && job.firstTokenAt !== null && job.startedAt !== null ? (job.firstTokenAt - job.startedAt) / 1000 : null,
});

/** Null if it ended well. */
const errorTypeOf = ({ type, code }: TimelineEvent, error: Job["error"]): string | null =>
  type === "job.completed" ? null : (error?.code ?? code ?? type);

interface SpanPhase {
  readonly name: string;
  readonly kind: number;
  readonly fromAt: number;
  readonly toAt: number;
  readonly given: Readonly<Record<string, AttributeValue>>;
  readonly status: Span["status"];
}

/** The attempts of a timeline, oldest first. */
const phasesOf = (job: Job, timeline: readonly TimelineEvent[]): SpanPhase[] => {
  const phases: SpanPhase[] = [];
  let queuedAt = job.createdAt;
  let runAt: number | null = null;
  let provider = job.workerProvider;
  const lastEnd = timeline.findLast(({ type }) => endsAttempt(type));
  for (const event of timeline) {
    const { at, type, worker } = event;
    if (type === "job.assigned") {
      provider = event.provider ?? job.workerProvider;
      const given = { "signalbox.worker": worker };
      phases.push({
        name: "queue",
        kind: KIND.internal,
        fromAt: queuedAt,
        toAt: at,
        given,
        status: { code: STATUS.ok },
      });
      runAt = at;
    } else if (type === "job.started") runAt = at;
    else if (endsAttempt(type)) {
      const isLast = event === lastEnd;
      const error = errorTypeOf(event, isLast ? job.error : null);
      const given = {
        ...runAttributes(job, provider, isLast),
        "error.type": error,
        "signalbox.worker": worker,
        "signalbox.outcome": type,
      };
      const name = `${operationOf(job)} ${job.model ?? ""}`.trim();
      const status = error === null ? { code: STATUS.ok } : { code: STATUS.error, message: error };
      if (runAt !== null) phases.push({ name, kind: KIND.client, fromAt: runAt, toAt: at, given, status });
      queuedAt = at;
      runAt = null;
    }
  }
  return phases;
};

/** The jobs with spans whose end is among these events; a later change of a final job is no second end. */
export const endedIn = (events: readonly Pick<JobEvent, "jobId" | "type" | "at">[], jobs: readonly Job[]): Job[] => {
  const endedAt = new Map(events.filter(({ type }) => endsAttempt(type)).map(({ jobId, at }) => [jobId, at]));
  return jobs.filter(({ id, finishedAt, traceparent }) => endedAt.get(id) === finishedAt && isSampled(traceparent));
};

/** `randomHex(chars)` returns ids. */
export const spansOf = (
  tenant: string,
  job: Job,
  timeline: readonly TimelineEvent[],
  randomHex: (chars: number) => string,
): Span[] => {
  const caller = readTraceparent(job.traceparent);
  const own = ownTraceOf(job.id);
  const traceId = caller?.traceId ?? own.traceId;
  // What the runtime is called with names it as its parent where there is no caller.
  const rootId = caller === null ? own.spanId : randomHex(SPAN_ID_CHARS);
  const root: SpanPhase = {
    name: "signalbox job",
    kind: KIND.server,
    fromAt: job.createdAt,
    toAt: job.finishedAt ?? job.updatedAt,
    given: {
      "signalbox.tenant": tenant,
      "signalbox.job.id": job.id,
      "signalbox.job.status": job.status,
      "signalbox.job.attempts": job.attempts,
      "signalbox.job.priority": job.priority,
      "error.type": job.error?.code,
    },
    status:
      job.status === "completed" ? { code: STATUS.ok } : { code: STATUS.error, message: job.error?.code ?? job.status },
  };
  const span = (phase: SpanPhase, spanId: string, parentSpanId: string): Span => ({
    traceId,
    spanId,
    parentSpanId,
    name: phase.name,
    kind: phase.kind,
    startTimeUnixNano: nano(phase.fromAt),
    endTimeUnixNano: nano(phase.toAt),
    attributes: attributes(phase.given),
    status: phase.status,
  });
  const phases = phasesOf(job, timeline).map((phase) => span(phase, randomHex(SPAN_ID_CHARS), rootId));
  return [span(root, rootId, caller?.spanId ?? ""), ...phases];
};
