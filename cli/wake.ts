// What `wake` concludes from the live feed: which groups of jobs have waited too long for a machine that is not there,
// and which workers have been without work for long enough. Time is an argument: milliseconds of a clock that nobody sets,
// which each snapshot compares with the coordinator's. The machine's own may be wrong, or be set meanwhile.

import type { WorkerResource } from "../contract/fleet/worker.ts";
import type { QueueView } from "../contract/jobs/insight.ts";
import type { LiveMessage } from "../contract/live.ts";
import { isSecretVariable } from "../contract/text/secret-variable.ts";

type QueueGroup = QueueView["groups"][number];

interface WakeTerms {
  /** Only groups that ask for all of these, and workers that offer all of these. */
  readonly tags: readonly string[];
  readonly afterMs: number;
  readonly idleMs: number;
}

/** The events of webhooks, with the same data. */
export type CapacityEvent =
  | {
      readonly event: "capacity.wanted";
      readonly data: {
        readonly group: Pick<QueueGroup, "provider" | "model" | "tags" | "api">;
        readonly waiting: number;
        readonly oldest_seconds: number;
        readonly reason: string;
        readonly priority_max: string;
      };
    }
  | { readonly event: "capacity.idle"; readonly data: { readonly worker: string; readonly idle_seconds: number } };

/** As webhooks repeat it. */
const REPEATED_AFTER_MS = 300_000;

const keyOf = ({ provider, model, tags, api, excluded_providers: excluded }: QueueGroup): string =>
  JSON.stringify([provider, model, tags, api, excluded]);

const splitTags = (tags: string): string[] => tags.split(",").map((tag) => tag.trim());

export class Watch {
  #terms: WakeTerms;
  #groups: readonly QueueGroup[] = [];
  /** Groups that were announced, and when. */
  readonly #toldAt = new Map<string, number>();
  /** Workers without work, and since when as far as it was seen. */
  readonly #idle = new Map<string, { readonly sinceAt: number; isTold: boolean }>();

  /** How far the coordinator's clock is ahead of the given times. */
  #aheadMs = 0;

  constructor(terms: WakeTerms) {
    this.#terms = terms;
  }

  take(message: LiveMessage, atMs: number): void {
    if (message.type === "snapshot") this.#aheadMs = Date.parse(message.server_time) - atMs;
    const nowAt = atMs + this.#aheadMs;
    if (message.type === "snapshot") {
      this.#groups = message.queue.groups;
      const there = new Set(message.workers.map(({ instance }) => instance));
      for (const instance of this.#idle.keys()) if (!there.has(instance)) this.#idle.delete(instance);
      for (const worker of message.workers) this.#look(worker, nowAt);
    } else if (message.type === "queue.updated") this.#groups = message.queue.groups;
    else if (message.type === "worker.updated") this.#look(message.worker, nowAt);
    else if (message.type === "worker.forgotten") this.#idle.delete(message.instance);
  }

  /** From now on these times count. */
  wait(times: Pick<WakeTerms, "afterMs" | "idleMs">): void {
    this.#terms = { ...this.#terms, ...times };
  }

  /** What is to be done now; each once, and for jobs that still wait again after five minutes. */
  due(atMs: number): CapacityEvent[] {
    const nowAt = atMs + this.#aheadMs;
    const wanted = this.#wanted(nowAt);
    return [...(wanted === null ? [] : [wanted]), ...this.#idleNow(nowAt)];
  }

  #look({ instance, status, current_load: load, tags }: WorkerResource, nowAt: number): void {
    const offered = splitTags(tags);
    const isIdle = status !== "offline" && load === 0 && this.#terms.tags.every((tag) => offered.includes(tag));
    if (!isIdle) this.#idle.delete(instance);
    else if (!this.#idle.has(instance)) this.#idle.set(instance, { sinceAt: nowAt, isTold: false });
  }

  /** One machine is woken, whichever groups want it: the group that has waited longest stands for all. */
  #wanted(nowAt: number): CapacityEvent | null {
    const waiting = this.#groups.filter((group) => this.#isWanted(group, nowAt)).sort(longestFirst);
    const keys = new Set(waiting.map(keyOf));
    for (const key of this.#toldAt.keys()) if (!keys.has(key)) this.#toldAt.delete(key);
    const news = waiting.filter((group) => nowAt - (this.#toldAt.get(keyOf(group)) ?? 0) >= REPEATED_AFTER_MS);
    for (const group of news) this.#toldAt.set(keyOf(group), nowAt);
    const [first] = news;
    return first === undefined ? null : wantedBy(first, nowAt);
  }

  /** Nobody starts a machine for workers that were paused. */
  #isWanted({ tags, capacity, waiting_since: since }: QueueGroup, nowAt: number): boolean {
    const isMissing = capacity !== null && capacity !== "all_paused";
    return (
      isMissing &&
      this.#terms.tags.every((tag) => tags.includes(tag)) &&
      nowAt - Date.parse(since) >= this.#terms.afterMs
    );
  }

  #idleNow(nowAt: number): CapacityEvent[] {
    const events: CapacityEvent[] = [];
    for (const [worker, one] of this.#idle) {
      if (one.isTold || nowAt - one.sinceAt < this.#terms.idleMs) continue;
      one.isTold = true;
      const data = { worker, idle_seconds: Math.floor((nowAt - one.sinceAt) / 1000) };
      events.push({ event: "capacity.idle", data });
    }
    return events;
  }
}

const longestFirst = (one: QueueGroup, other: QueueGroup): number =>
  Date.parse(one.waiting_since) - Date.parse(other.waiting_since);

const wantedBy = (group: QueueGroup, nowAt: number): CapacityEvent => {
  const { provider, model, tags, api, count, waiting_since: since, capacity, priority_max } = group;
  const oldest_seconds = Math.floor((nowAt - Date.parse(since)) / 1000);
  const data = { group: { provider, model, tags, api }, waiting: count, oldest_seconds, reason: capacity ?? "" };
  return { event: "capacity.wanted", data: { ...data, priority_max } };
};

/** What a command gets of an event, beside the environment without the service's settings, and without keys. */
export const environmentOf = (
  { event, data }: CapacityEvent,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> => {
  const kept = Object.entries(env).filter(
    ([name, value]) => value !== undefined && !name.startsWith("SERVICE_") && !isSecretVariable(name),
  );
  return {
    ...(Object.fromEntries(kept) as Record<string, string>),
    SIGNALBOX_EVENT: event,
    SIGNALBOX_DATA: JSON.stringify(data),
    ...("worker" in data
      ? { SIGNALBOX_WORKER: data.worker, SIGNALBOX_IDLE_SECONDS: String(data.idle_seconds) }
      : {
          SIGNALBOX_PROVIDER: data.group.provider ?? "",
          SIGNALBOX_MODEL: data.group.model ?? "",
          SIGNALBOX_TAGS: data.group.tags.join(","),
          SIGNALBOX_WAITING: String(data.waiting),
          SIGNALBOX_OLDEST_SECONDS: String(data.oldest_seconds),
          SIGNALBOX_REASON: data.reason,
          SIGNALBOX_PRIORITY: data.priority_max,
        }),
  };
};
