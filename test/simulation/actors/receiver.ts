// The receiver of the webhooks, and the promise to it: every event is sent at least once, and nothing that did not
// happen.

import { type Webhook, type WebhookEvent, wants } from "../../../domain/webhook.ts";
import type { JobEventType } from "../../../domain/words/event.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import type { Snapshot } from "../invariants/snapshot.ts";
import type { Clock } from "../platform/clock.ts";
import type { World } from "../world.ts";

const NO_ANSWER_MS = 10_000;

export type Mood = "fine" | "broken" | "deaf" | "gone";

/** Each has moods of its own. */
export const ENDPOINTS = [
  "https://one.example/hook",
  "https://two.example/hook",
  "https://three.example/hook",
] as const;

/** A try that has no answer yet. */
interface Try {
  readonly id: string;
  readonly at: number;
}

export class Receiver {
  readonly #moods = new Map<string, Mood>();
  /** Ids of deliveries that were answered successfully. */
  readonly taken = new Set<string>();
  /** Tries in progress of the object that is there now. */
  readonly open = new Set<Try>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  moodOf(url: string): Mood {
    return this.#moods.get(url) ?? "fine";
  }

  setMood(url: string, mood: Mood): void {
    this.#moods.set(url, mood);
  }

  readonly fetch = (url: string, init: { headers: Record<string, string> }): Promise<unknown> => {
    const id = init.headers["webhook-id"] ?? "";
    const mood = this.moodOf(url);
    if (mood === "deaf") return this.#noAnswer({ id, at: this.#clock.nowAt });
    if (mood === "fine") this.taken.add(id);
    const status = { fine: 204, broken: 503, gone: 410 }[mood];
    return Promise.resolve({ status, headers: new Headers(), body: null });
  };

  #noAnswer(tried: Try): Promise<unknown> {
    const late = Object.assign(new Error("no answer"), { name: "TimeoutError" });
    this.open.add(tried);
    return new Promise((_, reject) =>
      this.#clock.setTimeout(() => {
        this.open.delete(tried);
        reject(late);
      }, NO_ANSWER_MS),
    );
  }
}

export interface DeliveryRow {
  readonly id: string;
  readonly webhookId: string;
  readonly event: string;
  readonly status: string;
  readonly nextAttemptAt: number | null;
  readonly jobId: string | null;
  /** Of an event about a worker. */
  readonly instance: string | null;
}

const isSame = (one: Webhook | undefined, other: Webhook): boolean =>
  one !== undefined &&
  one.disabledAt === other.disabledAt &&
  `${one.events} ${one.tags}` === `${other.events} ${other.tags}`;

/** Final events of this step, and the deliveries of this step: each needs the other. */
export const eventsAreDelivered = (before: Snapshot, now: Snapshot, { shell, model }: World): string | null => {
  if (before !== now && before.deliveries === now.deliveries && now.outbox.length === 0) return null;
  const fresh = [...now.deliveries.values()].filter(({ id }) => !model.deliveries.has(id));
  for (const { id } of fresh) model.deliveries.add(id);
  const events = now.outbox.flatMap(({ entries }) => entries.events);
  for (const { id, event, jobId, webhookId } of fresh) {
    if (jobId === null || !event.startsWith("job.")) continue;
    const isTold = events.some((one) => one.jobId === jobId && endOf(one.type, before, now, jobId) === event);
    if (!isTold) return `delivery ${id} to ${webhookId} tells ${event} of job ${jobId}, which did not happen`;
  }
  for (const webhook of now.webhooks) {
    if (
      !isSame(
        before.webhooks.find(({ id }) => id === webhook.id),
        webhook,
      )
    )
      continue;
    for (const { jobId, type } of events) {
      const event = endOf(type, before, now, jobId);
      const job = now.jobs.get(jobId)?.job;
      if (event === null || job === undefined) continue;
      // Its tags may have changed in the commit that ended it, before that or afterwards.
      const { tags: tagsBefore } = before.jobs.get(jobId)?.job ?? job;
      if (!wants(webhook, event, job.tags) || !wants(webhook, event, tagsBefore)) continue;
      const isWritten = fresh.some((one) => one.jobId === jobId && one.event === event && one.webhookId === webhook.id);
      if (!isWritten) return `webhook ${webhook.id} is not told of ${event} of job ${jobId}`;
    }
  }
  const untaken = [...now.deliveries.values()].find(
    ({ id, status }) => status === "delivered" && !shell.receiver.taken.has(id),
  );
  return untaken === undefined ? null : `delivery ${untaken.id} counts as delivered, and nobody took it`;
};

const ENDS: readonly string[] = ["job.completed", "job.failed", "job.cancelled"] satisfies WebhookEvent[];

/** The webhook event of an event that ended a job; some ends are sent by the event that led to them. */
const endOf = (type: JobEventType, before: Snapshot, now: Snapshot, jobId: string): WebhookEvent | null => {
  if (ENDS.includes(type)) return type as WebhookEvent;
  const job = now.jobs.get(jobId)?.job;
  const was = before.jobs.get(jobId)?.job;
  if (job === undefined || !isFinal(job.status) || type === "job.updated") return null;
  return was !== undefined && isFinal(was.status) ? null : (`job.${job.status}` as WebhookEvent);
};

const MOST_TRIES = 5;
const MOST_FAILING_TRIES = 2;
/** A try without an answer, twice, and the object's next look. */
const HEARD_WITHIN_MS = 2 * NO_ANSWER_MS + 6_000;
const FULL_HALT = 4;

/** Endpoints that fail have few tries at a time, and an endpoint that answers does not wait for them. */
export const endpointsAreServedFairly = (_before: Snapshot, now: Snapshot, { shell, model }: World): string | null => {
  if (now.webhooks.length === 0) return null;
  const { clock, receiver } = shell;
  const open = [...receiver.open];
  if (open.length > MOST_TRIES) return `${open.length} deliveries are tried at a time`;
  const failingSince = new Map(now.webhooks.map(({ id, failingSinceAt }) => [id, failingSinceAt]));
  const failing = open.filter(({ id, at }) => {
    const sinceAt = failingSince.get(now.deliveries.get(id)?.webhookId ?? "") ?? null;
    return sinceAt !== null && sinceAt < at;
  });
  if (failing.length > MOST_FAILING_TRIES && clock.setBackFromAt <= now.nowAt)
    return `${failing.length} deliveries are tried at endpoints that fail`;
  const fine = new Set(now.webhooks.filter((one) => isFine(one, receiver)).map(({ id }) => id));
  const isServing = now.killswitch.level < FULL_HALT && now.alarmAt !== null && now.alarmAt > now.nowAt;
  for (const { id, nextAttemptAt, webhookId } of now.deliveries.values()) {
    const isDue = nextAttemptAt !== null && nextAttemptAt <= now.nowAt;
    if (!isDue || !isServing || !fine.has(webhookId)) model.waitingSince.delete(id);
    else if (!model.waitingSince.has(id)) model.waitingSince.set(id, clock.elapsedAt);
    const waitedMs = clock.elapsedAt - (model.waitingSince.get(id) ?? clock.elapsedAt);
    if (waitedMs > HEARD_WITHIN_MS) return `delivery ${id} to an endpoint that answers has waited for ${waitedMs} ms`;
  }
  return null;
};

const isFine = ({ url, disabledAt, failingSinceAt }: Webhook, receiver: Receiver): boolean =>
  disabledAt === null && failingSinceAt === null && receiver.moodOf(url) === "fine";

/**
 * Once, until the worker was heard of again. A clock that was set back makes the last sign a later one, and another
 * threshold may make the worker alive.
 */
export const silenceIsToldOnce = (before: Snapshot, now: Snapshot, { shell, model }: World): string | null => {
  const { elapsedAt, heededAt } = shell.clock;
  const isOtherThreshold = before.config.presence.offlineAfterMs !== now.config.presence.offlineAfterMs;
  if (isOtherThreshold) model.toldSilent.clear();
  if (before !== now && before.deliveries === now.deliveries) return null;
  for (const { id, event, instance, webhookId } of now.deliveries.values()) {
    if (event !== "worker.offline" || instance === null || model.silences.has(id)) continue;
    const signs = [model.heardAt.get(instance) ?? 0, model.triedAt.get(instance) ?? 0, heededAt];
    const key = `${webhookId} ${instance}`;
    if (Math.max(...signs) < (model.toldSilent.get(key) ?? 0))
      return `webhook ${webhookId} is told twice that ${instance} is silent`;
    model.silences.add(id);
    model.toldSilent.set(key, elapsedAt);
  }
  // It may have changed after the worker was told to be silent.
  if (isOtherThreshold) model.toldSilent.clear();
  return null;
};
