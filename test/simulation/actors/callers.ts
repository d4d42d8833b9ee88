// Remote callers: through the front door, owners of webhooks, and an edge that stalls between its two calls.

import { WEBHOOK_EVENTS } from "../../../domain/webhook.ts";
import type { StepKind } from "../plan.ts";
import { oneOf, pickOf } from "../platform/random.ts";
import type { Action, World } from "../world.ts";
import { ENDPOINTS } from "./receiver.ts";

const askAtFrontDoor: Action = async (world, [model, stream, key, queue, priority]) => {
  const prompt = world.fresh("asked");
  world.model.asked.add(prompt);
  await world.shell.call(world.admin, "ask", {
    id: null,
    api: "chat/completions",
    stream: stream < 0.5,
    model: model < 0.8 ? "m" : "unknown",
    prompt,
    input: { of: prompt },
    session: key < 0.3 ? "session" : null,
    headers: {},
    provider: null,
    tags: [],
    priority: oneOf(["normal", "high"], priority),
    tier: null,
    timeoutMs: null,
    queueMs: oneOf([null, 0, 3_000, 60_000], queue),
    idempotency: null,
    traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
  });
};

const leaveFrontDoor: Action = async (world, [which]) => {
  const open = [...world.model.seen.values()].filter(({ job }) => job.api !== null).map(({ job }) => job.id);
  const id = pickOf(open, which);
  if (id !== undefined)
    await world.shell.call(world.admin, "abandon", { id, why: which < 0.2 ? "slow" : which < 0.4 ? "lost" : "left" });
};

const webhookIds = ({ shell }: World): string[] =>
  shell.disk.rows("SELECT id FROM webhooks").map((row) => row.id as string);

const makeWebhook: Action = async (world, [tags, events, endpoint]) => {
  if (webhookIds(world).length > 2) return;
  await world.shell.call(world.admin, "createWebhook", {
    id: world.fresh("webhook"),
    secret: "c2VjcmV0",
    url: oneOf(ENDPOINTS, endpoint),
    origin: "https://coordinator.example",
    events: oneOf([[...WEBHOOK_EVENTS], ["job.failed", "worker.offline"], ["job.cancelled"]], events),
    tags: tags < 0.7 ? [] : ["a"],
    description: "",
  });
};

const changeWebhook: Action = async (world, [which, what, other]) => {
  const id = pickOf(webhookIds(world), which);
  if (id === undefined) return;
  const { admin, shell } = world;
  const deliveries = shell.disk.rows("SELECT id FROM deliveries WHERE webhook_id = ?", id);
  const delivery = pickOf(deliveries, other)?.id as string | undefined;
  if (what < 0.2) await shell.call(admin, "deleteWebhook", { id });
  else if (what < 0.4) await shell.call(admin, "patchWebhook", { id, patch: { enabled: other < 0.6 } });
  else if (what < 0.6) await shell.call(admin, "testWebhook", { id });
  else if (what < 0.7) await shell.call(admin, "rotateWebhook", { id, secret: "b3RoZXI=" });
  else if (delivery !== undefined) await shell.call(admin, "redeliver", { id: delivery });
};

/** An edge that found a job in history and has not told the object yet: meanwhile the job may change. */
const stallEdge: Action = async (world, [which, what]) => {
  const { admin, model, shell } = world;
  const left = [...model.seen.values()].filter(({ isHere }) => !isHere);
  const job = pickOf(left.slice(-6), which)?.job;
  if (job === undefined || shell.history.weather === "down") return;
  const name = oneOf(["retryJob", "cancelJob", "patchJob"] as const, what);
  if (name === "retryJob") model.retried.add(job.id);
  const request = { id: job.id, patch: { priority: "high" as const } };
  const answer = await shell.call(admin, name, request);
  const absentAt =
    answer !== null && !answer.ok && answer.error.code === "not_found" ? answer.error.absentAt : undefined;
  const archived = world.archived(job.id);
  if (absentAt === undefined || archived === null) return;
  world.stalled.push(() => shell.call(admin, name, { ...request, archived: { ...archived, absentAt } }));
};

const stalledEdgeGoesOn: Action = async (world, [which]) => {
  const [go] = world.stalled.splice(Math.floor(which * world.stalled.length), 1);
  await go?.();
};

export const CALLER_ACTIONS = {
  "ask at the front door": askAtFrontDoor,
  "leave the front door": leaveFrontDoor,
  "make a webhook": makeWebhook,
  "change a webhook": changeWebhook,
  "an edge stalls": stallEdge,
  "a stalled edge goes on": stalledEdgeGoesOn,
} satisfies Partial<Record<StepKind, Action>>;
