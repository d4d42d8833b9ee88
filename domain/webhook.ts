// Webhooks: which events are sent, when a delivery is tried again, and when an endpoint is disabled. Delays and
// statuses are those of Standard Webhooks 1.0.0.

import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "./words/duration.ts";

export const WEBHOOK_EVENTS = [
  "job.completed",
  "job.failed",
  "job.cancelled",
  "worker.offline",
  "worker.paused",
  "killswitch.activated",
  "killswitch.cleared",
  "budget.reached",
  "schedule.missed",
  "catalog.model_removed",
  "batch.completed",
  "batch.failed",
  "batch.cancelled",
  "batch.expired",
  "overflow.started",
  "capacity.wanted",
  "capacity.idle",
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** Events that the audit log also has: an audit entry causes its event. */
export const AUDITED_EVENTS: Readonly<Partial<Record<string, WebhookEvent>>> = {
  "worker.paused": "worker.paused",
  "killswitch.activated": "killswitch.activated",
  "killswitch.cleared": "killswitch.cleared",
  "budget.reached": "budget.reached",
  "catalog.models_removed": "catalog.model_removed",
  "overflow.started": "overflow.started",
};

/** What a delivery sends: an event, or the requested test. */
export type DeliveryEvent = WebhookEvent | "webhook.test";

export const DELIVERY_STATUSES = ["pending", "delivered", "failed"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

interface OlderSecret {
  readonly secret: string;
  readonly untilAt: number;
}

export interface Webhook {
  readonly id: string;
  readonly url: string;
  /** The address under which the service was reached when the webhook was created; links in events begin with it. */
  readonly origin: string;
  readonly events: readonly WebhookEvent[];
  /** Only jobs with all of these tags; events that are not about jobs are always sent. */
  readonly tags: readonly string[];
  readonly description: string;
  /** Base64 of 32 random bytes. */
  readonly secret: string;
  /** After a rotation both secrets sign until then. */
  readonly previousSecret: string | null;
  readonly previousUntilAt: number | null;
  /** Of earlier rotations, newest first: each signs for its own time. */
  readonly olderSecrets?: readonly OlderSecret[];
  readonly disabledAt: number | null;
  readonly disabledReason: string | null;
  /** It was disabled, and deliveries that waited are still to be given up. */
  readonly isGivingUp?: boolean;
  /** The first failure since the last success; null while deliveries succeed. */
  readonly failingSinceAt: number | null;
  readonly createdAt: number;
}

export interface Delivery {
  /** Also the `webhook-id`, the same for all tries. */
  readonly id: string;
  readonly webhookId: string;
  readonly event: DeliveryEvent;
  readonly at: number;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly responseStatus: number | null;
  readonly error: string | null;
  readonly nextAttemptAt: number | null;
  readonly finishedAt: number | null;
  /** The trace of its job. */
  readonly traceparent: string | null;
  readonly body: string;
}

export interface AttemptOutcome {
  /** null: there was no answer. */
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  readonly error: string | null;
}

/** The wait after the first, second … try. */
const RETRY_DELAYS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
] as const;
/** Each delay grows by up to this share, so that many deliveries are not retried together. */
const JITTER = 0.1;
const GONE = 410;
const ROTATION_OVERLAP_MS = DAY_MS;
export const GIVEN_UP_AFTER_MS = 5 * DAY_MS;
/** The longest wait that an endpoint may ask for. */
const MAX_RETRY_AFTER_MS = DAY_MS;

/** Whether the webhook selects the event. */
export const wants = (webhook: Webhook, event: WebhookEvent, tags: readonly string[] | null): boolean =>
  webhook.disabledAt === null &&
  webhook.events.includes(event) &&
  (tags === null || webhook.tags.every((tag) => tags.includes(tag)));

/** Whether any of them selects the event, whatever its tags. */
export const isWanted = (webhooks: readonly Webhook[], event: WebhookEvent): boolean =>
  webhooks.some((webhook) => wants(webhook, event, null));

interface AfterAttempt {
  readonly webhook: Webhook;
  readonly delivery: Delivery;
}

/** The delivery and its webhook after a try; `random` in [0, 1). */
export const afterAttempt = (
  webhook: Webhook,
  before: Delivery,
  outcome: AttemptOutcome,
  nowAt: number,
  random: number,
): AfterAttempt => {
  const delivery = {
    ...before,
    attempts: before.attempts + 1,
    responseStatus: outcome.status,
    error: outcome.error,
  };
  const isDelivered = outcome.status !== null && outcome.status >= 200 && outcome.status < 300;
  if (isDelivered) {
    return {
      webhook: { ...webhook, failingSinceAt: null },
      delivery: { ...delivery, status: "delivered", nextAttemptAt: null, finishedAt: nowAt },
    };
  }
  return {
    webhook: afterFailure(webhook, outcome, nowAt),
    delivery: { ...delivery, ...nextTry(delivery.attempts, outcome, nowAt, random) },
  };
};

const nextTry = (
  attempts: number,
  outcome: AttemptOutcome,
  nowAt: number,
  random: number,
): Pick<Delivery, "status" | "nextAttemptAt" | "finishedAt"> => {
  const delayMs = RETRY_DELAYS_MS[attempts - 1];
  if (delayMs === undefined || outcome.status === GONE)
    return { status: "failed", nextAttemptAt: null, finishedAt: nowAt };
  const askedMs = Math.min(outcome.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  const waitMs = Math.max(delayMs * (1 + JITTER * random), askedMs);
  return { status: "pending", nextAttemptAt: Math.ceil(nowAt + waitMs), finishedAt: null };
};

/** Why a webhook is disabled. */
export const DISABLED_REASONS = {
  gone: "the endpoint answered 410 Gone",
  failing: "every delivery failed for five days",
  operator: "disabled by an operator",
} as const;

const afterFailure = (webhook: Webhook, outcome: AttemptOutcome, nowAt: number): Webhook => {
  const failingSinceAt = webhook.failingSinceAt ?? nowAt;
  if (webhook.disabledAt !== null) return webhook;
  if (outcome.status === GONE) return disabled(webhook, DISABLED_REASONS.gone, nowAt);
  if (nowAt - failingSinceAt >= GIVEN_UP_AFTER_MS) return disabled(webhook, DISABLED_REASONS.failing, nowAt);
  return { ...webhook, failingSinceAt };
};

/** What waits for it is given up with it. */
export const disabled = (webhook: Webhook, disabledReason: string, disabledAt: number): Webhook => ({
  ...webhook,
  disabledAt,
  disabledReason,
  isGivingUp: true,
});

/** A manual redelivery restarts the schedule of tries, with the same id. */
export const redelivered = (delivery: Delivery, firstTryAt: number): Delivery => ({
  ...delivery,
  status: "pending",
  attempts: 0,
  nextAttemptAt: firstTryAt,
  finishedAt: null,
});

/** Too many wait for its endpoint: the oldest is given up for a newer one. */
export const dropped = (delivery: Delivery, nowAt: number): Delivery => ({
  ...delivery,
  status: "failed",
  error: "dropped, because too many newer deliveries waited for the endpoint",
  nextAttemptAt: null,
  finishedAt: nowAt,
});

/** As many as fit into a header. */
const MAX_OLDER_SECRETS = 8;

/** Replaced by rotations, newest first: those whose time to sign is not over. */
const overlapping = ({ previousSecret, previousUntilAt, olderSecrets = [] }: Webhook, nowAt: number): OlderSecret[] =>
  [{ secret: previousSecret, untilAt: previousUntilAt }, ...olderSecrets].filter(
    (one): one is OlderSecret => one.secret !== null && one.untilAt !== null && nowAt < one.untilAt,
  );

/** With a new secret; until their time is over, those before it sign, too. */
export const rotated = (webhook: Webhook, secret: string, nowAt: number): Webhook => ({
  ...webhook,
  secret,
  previousSecret: webhook.secret,
  previousUntilAt: nowAt + ROTATION_OVERLAP_MS,
  olderSecrets: overlapping(webhook, nowAt).slice(0, MAX_OLDER_SECRETS),
});

/** The secrets that sign now. */
export const signingSecrets = (webhook: Webhook, nowAt: number): string[] => [
  webhook.secret,
  ...overlapping(webhook, nowAt).map(({ secret }) => secret),
];
