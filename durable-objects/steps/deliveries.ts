// Deliveries of events to webhooks. The turn that causes a delivery writes it, the sweep takes it, the object's shell
// sends it, and a turn of its own stores the outcome. A crash in between repeats a try and loses none.

import { startOf } from "../../contract/text/start-of.ts";
import { toIso } from "../../contract/words/field.ts";
import { FULL_HALT } from "../../domain/killswitch.ts";
import {
  type AttemptOutcome,
  afterAttempt,
  type Delivery,
  type DeliveryEvent,
  dropped,
  signingSecrets,
  type Webhook,
  wants,
} from "../../domain/webhook.ts";
import { DAY_MS } from "../../domain/words/duration.ts";
import { SERVICE_ACTOR } from "../../domain/words/event.ts";
import type { Json } from "../../domain/words/json.ts";
import type { Sendable } from "../store/webhooks/due-deliveries.ts";
import type { Turn } from "../turn/turn.ts";

/** The platform allows six connections at a time. */
const MAX_UNDER_WAY = 5;
/** Of one endpoint, if there are others: only when its tries have ended is it known whether it answers slowly. */
const MAX_OF_ONE = 4;
/** Endpoints that fail share these, because each may take its whole timeout. Those that do leave one for the others. */
const MAX_FAILING_UNDER_WAY = 2;
/** Endpoints that answer slowly, or fail, share these while there are quicker ones. */
const MAX_SLOW_UNDER_WAY = 3;
const SLOW_MS = 1_000;
/** Longer than a try takes; an object that died wakes for it by then. */
const TRY_LEASE_MS = 30_000;
const LOOK_AGAIN_MS = 5_000;
/**
 * How long finished deliveries are kept. Each is written at least twice, so these are about the last 100,000: without
 * such a limit a busy tenant would fill its database with them.
 */
export const DELIVERIES_KEPT = { ms: 30 * DAY_MS, writes: 200_000 };
const REMOVED_A_SWEEP = 1_000;
const MAX_BODY_BYTES = 20_000;
/** Of a body that is cut, at first; halved until it fits. */
const LONGEST_TEXT = 1_024;
const CHARS_AN_ENTRY = 16;
/** Of a deleted or a disabled webhook in one turn. The next turn follows at once; other tenants run between them. */
const AT_ONCE = 250;
/**
 * How many deliveries may wait for one endpoint; for the next, the oldest of them is given up. A large burst and an
 * endpoint's bad hour must fit, and a dead endpoint must not fill the database.
 */
export const DELIVERIES_WAITING = { most: 100_000 };

/** Writes the turn's announcements: a delivery for each webhook that selects them. */
export const writeDeliveries = (turn: Turn): void => {
  for (const { event, data, tags, traceparent = null } of turn.announcements)
    for (const webhook of turn.memory.webhooks)
      if (wants(webhook, event, tags)) write(turn, webhook, event, data, traceparent);
};

export const write = (
  turn: Turn,
  webhook: Webhook,
  event: DeliveryEvent,
  data: Json,
  traceparent: string | null = null,
): Delivery => {
  const told = {
    type: event,
    timestamp: toIso(turn.nowAt),
    data: withLink(turn.originOf(webhook.origin), event, data),
  };
  const delivery: Delivery = {
    id: `msg_${turn.newId()}`,
    webhookId: webhook.id,
    event,
    at: turn.nowAt,
    status: "pending",
    attempts: 0,
    responseStatus: null,
    error: null,
    nextAttemptAt: turn.nowAt,
    finishedAt: null,
    traceparent,
    body: bodyOf(told),
  };
  putDelivery(turn, null, delivery);
  turn.due(turn.nowAt);
  return delivery;
};

/** A body is below 20 kB: where it would be more, its longest texts and lists are cut. */
const bodyOf = (told: Json): string => {
  let body = JSON.stringify(told);
  for (let most = LONGEST_TEXT; new TextEncoder().encode(body).length >= MAX_BODY_BYTES; most /= 2)
    body = JSON.stringify(told, (_, value) => {
      if (typeof value === "string") return startOf(value, most);
      return Array.isArray(value) ? value.slice(0, most / CHARS_AN_ENTRY) : value;
    });
  return body;
};

/** When a delivery that is sent again is tried first: now, unless the try in progress counts as that. */
export const firstTryAt = ({ memory, nowAt }: Turn, id: string): number =>
  memory.deliveries.underWay.has(id) ? nowAt + TRY_LEASE_MS : nowAt;

/** Stores a delivery, and counts it while it waits. */
export const putDelivery = (turn: Turn, before: Delivery | null, delivery: Delivery): void => {
  const { pending } = turn.memory.deliveries;
  const change = Number(delivery.status === "pending") - Number(before?.status === "pending");
  const { webhookId } = delivery;
  if (change > 0) makeRoom(turn, webhookId);
  if (change !== 0) pending.set(webhookId, (pending.get(webhookId) ?? 0) + change);
  turn.store.deliveries.put(delivery);
};

const makeRoom = (turn: Turn, webhookId: string): void => {
  const { pending, underWay } = turn.memory.deliveries;
  if ((pending.get(webhookId) ?? 0) < DELIVERIES_WAITING.most) return;
  const oldest = turn.store.deliveries.oldestPending(webhookId, [...underWay.keys()]);
  if (oldest !== null) putDelivery(turn, oldest, dropped(oldest, turn.nowAt));
};

const withLink = (origin: string, event: DeliveryEvent, data: Json): Json => {
  const { id } = (data ?? {}) as { id?: string };
  const list = event.startsWith("batch.") ? "batches" : "jobs";
  return id === undefined ? data : { ...(data as object), url: `${origin}/api/${list}/${id}` };
};

/** At killswitch level 4 only the killswitch's own events are sent. */
const sendable = (turn: Turn): Sendable => (turn.memory.killswitch.level >= FULL_HALT ? "killswitch" : "all");

/** The webhooks of which a delivery may be tried now. */
const openWebhooks = ({ memory }: Turn): readonly Webhook[] => {
  const { deliveries } = memory;
  if (deliveries.underWay.size >= MAX_UNDER_WAY) return [];
  const underWay = [...deliveries.underWay.values()];
  const webhooks = memory.webhooks.filter(({ isGivingUp = false }) => !isGivingUp);
  const healthy = webhooks.filter(({ failingSinceAt }) => failingSinceAt === null);
  const isQuick = ({ id }: Webhook): boolean => !deliveries.slow.has(id);
  const quick = healthy.filter(isQuick);
  const answering = webhooks.filter((one) => one.failingSinceAt === null || isQuick(one));
  const countOfOthers = (some: readonly Webhook[]): number =>
    underWay.filter((id) => !some.some((one) => one.id === id)).length;
  const mayTake = (): readonly Webhook[] => {
    if (quick.length > 0 && countOfOthers(quick) >= MAX_SLOW_UNDER_WAY) return quick;
    if (countOfOthers(healthy) >= MAX_FAILING_UNDER_WAY) return healthy;
    return countOfOthers(answering) > 0 && answering.length > healthy.length ? answering : webhooks;
  };
  const isAlone = memory.webhooks.length === 1;
  return mayTake().filter(({ id }) => isAlone || underWay.filter((one) => one === id).length < MAX_OF_ONE);
};

/**
 * While as many deliveries are in progress as may be, the end of each triggers the next; the alarm is for an object that
 * dies.
 */
export const nextDeliveryAt = (turn: Turn): number | null => {
  const { webhooks, deliveries } = turn.memory;
  if (webhooks.length === 0) return null;
  if (turn.store.deliveries.hasTaken([...deliveries.underWay.keys()])) return turn.nowAt;
  const open = openWebhooks(turn);
  let nextAt: number | null = null;
  for (const webhook of webhooks) {
    const dueAt = turn.store.deliveries.nextDueAt(webhook.id, sendable(turn));
    if (dueAt === null) continue;
    const lookAt = open.includes(webhook) ? dueAt : Math.max(dueAt, turn.nowAt + LOOK_AGAIN_MS);
    // The others could not be earlier than now.
    if (lookAt <= turn.nowAt) return lookAt;
    nextAt = Math.min(nextAt ?? lookAt, lookAt);
  }
  return nextAt;
};

/** Gives due deliveries to the shell, as many as may be in progress, and first those whose try died with its object. */
export const takeDeliveries = (turn: Turn): void => {
  turn.store.deliveries.giveBack([...turn.memory.deliveries.underWay.keys()], turn.nowAt);
  for (let next = nextDue(turn); next !== null; next = nextDue(turn)) take(turn, next);
};

/** Of a webhook chosen at random, so that none waits for the others' backlogs. */
const nextDue = (turn: Turn): { webhook: Webhook; delivery: Delivery } | null => {
  const open = [...openWebhooks(turn)];
  while (open.length > 0) {
    const [webhook] = open.splice(Math.floor(turn.random() * open.length), 1) as [Webhook];
    const delivery = turn.store.deliveries.firstDue(webhook.id, turn.nowAt, sendable(turn));
    if (delivery !== null) return { webhook, delivery };
  }
  return null;
};

const take = (turn: Turn, { webhook, delivery }: { webhook: Webhook; delivery: Delivery }): void => {
  const { id, traceparent, body } = delivery;
  turn.store.deliveries.take(id, turn.nowAt + TRY_LEASE_MS);
  turn.memory.deliveries.underWay.set(id, webhook.id);
  const secrets = signingSecrets(webhook, turn.nowAt);
  turn.effects.deliveries.push({ id, webhookId: webhook.id, url: webhook.url, secrets, traceparent, body });
};

/** Stores the outcome of a try. What may be tried next is asked last, because it depends on how its endpoint does now. */
export const settleDelivery = (turn: Turn, id: string, outcome: AttemptOutcome): void => {
  turn.memory.deliveries.underWay.delete(id);
  storeOutcome(turn, id, outcome);
  turn.due(nextDeliveryAt(turn));
};

const storeOutcome = (turn: Turn, id: string, outcome: AttemptOutcome): void => {
  const delivery = turn.store.deliveries.find(id);
  const webhook = turn.memory.webhooks.find((one) => one.id === delivery?.webhookId);
  if (delivery === null || delivery.status !== "pending" || webhook === undefined) return;
  noteDuration(turn, delivery);
  const after = afterAttempt(webhook, delivery, outcome, turn.nowAt, turn.random());
  putDelivery(turn, delivery, after.delivery);
  turn.due(after.delivery.nextAttemptAt);
  if (after.webhook.failingSinceAt !== webhook.failingSinceAt || after.webhook.disabledAt !== webhook.disabledAt)
    putWebhook(turn, after.webhook);
  if (webhook.disabledAt !== null || after.webhook.disabledAt === null) return;
  giveUp(turn, after.webhook);
  const reason = after.webhook.disabledReason;
  turn.audit("webhook.disabled", webhook.id, { url: webhook.url, reason }, SERVICE_ACTOR);
};

/** The next try of a delivery that is taken counts from its beginning. */
const noteDuration = ({ memory, nowAt }: Turn, { webhookId, nextAttemptAt }: Delivery): void => {
  const begunAt = (nextAttemptAt ?? nowAt) - TRY_LEASE_MS;
  if (nowAt - begunAt > SLOW_MS) memory.deliveries.slow.add(webhookId);
  else memory.deliveries.slow.delete(webhookId);
};

/** Some of what waits for a webhook that is disabled fails. */
const giveUp = (turn: Turn, webhook: Webhook): void => {
  const { pending } = turn.memory.deliveries;
  const reason = webhook.disabledReason ?? "";
  const count = turn.store.deliveries.failPending(webhook.id, reason, turn.nowAt, AT_ONCE);
  pending.set(webhook.id, (pending.get(webhook.id) ?? 0) - count);
  if (count < AT_ONCE) putWebhook(turn, { ...webhook, isGivingUp: false });
  else turn.due(turn.nowAt);
};

const givingUp = ({ memory }: Turn): Webhook | undefined => memory.webhooks.find(({ isGivingUp }) => isGivingUp);

export const nextGiveUpAt = (turn: Turn): number | null => (givingUp(turn) === undefined ? null : turn.nowAt);

export const giveUpDeliveries = (turn: Turn): void => {
  const webhook = givingUp(turn);
  if (webhook !== undefined) giveUp(turn, webhook);
};

export const putWebhook = (turn: Turn, webhook: Webhook): void => {
  turn.store.webhooks.put(webhook);
  turn.memory.webhooks = turn.store.webhooks.all();
};

export const nextRemovalAt = (turn: Turn): number | null => {
  if (turn.store.deliveries.webhookGone() !== null) return turn.nowAt;
  const oldest = turn.store.deliveries.oldestFinished();
  if (oldest === null) return null;
  return oldest.writesSince >= DELIVERIES_KEPT.writes ? turn.nowAt : oldest.at + DELIVERIES_KEPT.ms;
};

/** Those of a deleted webhook first. */
export const removeOldDeliveries = (turn: Turn): void => {
  const { deliveries } = turn.store;
  const gone = deliveries.webhookGone();
  if (gone !== null) deliveries.removeSome(gone, AT_ONCE);
  else deliveries.removeFinished(turn.nowAt - DELIVERIES_KEPT.ms + 1, DELIVERIES_KEPT.writes, REMOVED_A_SWEEP);
};
