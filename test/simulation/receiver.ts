// The receiver of the webhooks, and the promise to it: every event is sent at least once, and nothing that did not
// happen.

import type { JobEventType } from "../../domain/event.ts";
import { isFinal } from "../../domain/job-status.ts";
import { type Webhook, type WebhookEvent, wants } from "../../domain/webhook.ts";
import type { Clock } from "./clock.ts";
import type { Snapshot } from "./snapshot.ts";
import type { World } from "./world.ts";

const NO_ANSWER_MS = 10_000;

export type Mood = "fine" | "broken" | "deaf" | "gone";

export class Receiver {
  mood: Mood = "fine";
  /** Ids of deliveries that were answered successfully. */
  readonly taken = new Set<string>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly fetch = (_url: string, init: { headers: Record<string, string> }): Promise<unknown> => {
    const id = init.headers["webhook-id"] ?? "";
    if (this.mood === "deaf") return this.#noAnswer();
    if (this.mood === "fine") this.taken.add(id);
    const status = { fine: 204, broken: 503, gone: 410 }[this.mood];
    return Promise.resolve({ status, headers: new Headers(), body: null });
  };

  #noAnswer(): Promise<unknown> {
    const late = Object.assign(new Error("no answer"), { name: "TimeoutError" });
    return new Promise((_, reject) => this.#clock.setTimeout(() => reject(late), NO_ANSWER_MS));
  }
}

export interface DeliveryRow {
  readonly id: string;
  readonly webhookId: string;
  readonly event: string;
  readonly status: string;
  readonly nextAttemptAt: number | null;
  readonly jobId: string | null;
}

const isSame = (one: Webhook | undefined, other: Webhook): boolean =>
  one !== undefined &&
  one.disabledAt === other.disabledAt &&
  `${one.events} ${one.tags}` === `${other.events} ${other.tags}`;

/** Final events of this step, and the deliveries of this step: each needs the other. */
export const eventsAreDelivered = (before: Snapshot, now: Snapshot, { shell, model }: World): string | null => {
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
      if (event === null || job === undefined || !wants(webhook, event, job.tags)) continue;
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
