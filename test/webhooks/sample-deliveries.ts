// Webhooks and deliveries as they are stored.

import type { Delivery, Webhook } from "../../domain/webhook.ts";

export const webhook = (id: string, changes: Partial<Webhook> = {}): Webhook => ({
  id,
  url: `https://${id}.example`,
  origin: "https://signalbox.example",
  events: ["job.completed"],
  tags: [],
  description: "",
  secret: "",
  previousSecret: null,
  previousUntilAt: null,
  disabledAt: null,
  disabledReason: null,
  failingSinceAt: null,
  createdAt: 1,
  ...changes,
});

/** It waits for its first try. */
export const delivery = (id: string, changes: Partial<Delivery> = {}): Delivery => ({
  id,
  webhookId: "w",
  event: "job.completed",
  at: 1,
  status: "pending",
  attempts: 0,
  responseStatus: null,
  error: null,
  nextAttemptAt: null,
  finishedAt: null,
  traceparent: null,
  body: "{}",
  ...changes,
});
