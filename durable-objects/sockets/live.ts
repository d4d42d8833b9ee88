// The dashboard's live view: a snapshot, then the latest state of everything that changes, at most ten frames a second,
// numbered per viewer. Without viewers it does nothing.

import { type LiveMessage, MAX_LIVE_RESOURCES } from "../../contract/live.ts";
import type { Effects } from "../turn/effects.ts";
import type { Turn } from "../turn/turn.ts";
import { type LiveChanges, liveSnapshot, liveUpdates } from "./live-messages.ts";
import type { Sockets } from "./sockets.ts";
import type { TenantSocket } from "./tenant-socket.ts";

const FRAME_EVERY_MS = 100;
/** How often the queue's groups are read while anything changes. */
const QUEUE_EVERY_MS = 1_000;
/** Summing up the fleet takes about a microsecond per worker; this keeps it at a thousandth of the time. */
const FLEET_EVERY_MS_A_WORKER = 1;
/** A viewer that is this many changes behind gets a snapshot instead. */
export const MAX_BEHIND = 5_000;

const SUMS: ReadonlySet<LiveMessage["type"]> = new Set(["queue.updated", "activity.updated", "fleet.updated"]);

const noChanges = (): LiveChanges => ({
  jobs: new Set(),
  workers: new Set(),
  forgotten: new Set(),
  modelTasks: new Set(),
  topics: new Set(),
});

export class Live {
  readonly #sockets: Sockets;
  readonly #read: <T>(read: (turn: Turn) => T) => Promise<T>;
  #changes = noChanges();
  #isScheduled = false;
  #isQueueChanged = false;
  #queueToldAt = 0;
  #isFleetChanged = false;
  #fleetToldAt = 0;
  #fleetSize = 0;
  /** The last sent queue, minutes and fleet, so that equal ones are not sent again. */
  readonly #lastSent = new Map<string, string>();
  /** Viewers that have not had their snapshot yet. */
  #newcomers: TenantSocket[] = [];
  #flushedAt = 0;

  constructor(sockets: Sockets, read: <T>(read: (turn: Turn) => T) => Promise<T>) {
    this.#sockets = sockets;
    this.#read = read;
  }

  welcome(viewer: TenantSocket): void {
    this.#newcomers.push(viewer);
    // If no frame was sent lately, the snapshot goes at once: what happens next is then a change after it.
    const isQuiet = hasPassed(FRAME_EVERY_MS, this.#flushedAt, Date.now());
    this.#schedule(isQuiet ? 0 : FRAME_EVERY_MS);
  }

  note(effects: Effects): void {
    if (this.#sockets.viewers().length === 0) return;
    const { jobs, workers, forgotten, modelTasks, topics } = this.#changes;
    for (const id of effects.changedJobs) jobs.add(id);
    for (const id of effects.changedModelTasks) modelTasks.add(id);
    for (const instance of effects.changedWorkers) workers.add(instance);
    for (const instance of effects.forgottenWorkers) forgotten.add(instance);
    for (const topic of effects.changedTopics) topics.add(topic);
    if (jobs.size + workers.size + forgotten.size + modelTasks.size + topics.size === 0) return;
    this.#isQueueChanged = true;
    if (workers.size + forgotten.size > 0) this.#isFleetChanged = true;
    this.#schedule();
  }

  #schedule(inMs = FRAME_EVERY_MS): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => this.#flush().catch(() => this.#startOver()), inMs);
  }

  async #flush(): Promise<void> {
    this.#isScheduled = false;
    this.#flushedAt = Date.now();
    const isBehind = this.#changes.jobs.size + this.#changes.workers.size > MAX_BEHIND;
    const newcomers = isBehind ? this.#sockets.viewers() : this.#newcomers;
    this.#newcomers = [];
    const changes = isBehind ? noChanges() : this.#nextChanges();
    if (isBehind) this.#changes = noChanges();
    const { snapshot, updates, fleetSize } = await this.#read((turn) => ({
      snapshot: newcomers.length === 0 ? null : liveSnapshot(turn),
      updates: liveUpdates(turn, changes),
      fleetSize: turn.memory.fleet.size,
    }));
    this.#fleetSize = fleetSize;
    // Who gets a snapshot has not seen the last values, but newer ones.
    if (snapshot !== null) this.#lastSent.clear();
    // Who came while this was read begins with a snapshot, too, in the next frame.
    const isNew = new Set([...newcomers, ...this.#newcomers]);
    const news = updates.filter((message) => this.#isNews(message));
    if (news.length > 0) {
      const others = this.#sockets.viewers().filter((viewer) => !isNew.has(viewer));
      sendNumbered(others, news);
    }
    // No snapshot has the model tasks.
    const tasks = news.filter(({ type }) => type === "model_task.updated");
    if (snapshot !== null) sendNumbered(newcomers, [snapshot, ...tasks]);
  }

  /** A read failed (its turn logged it): every viewer gets a snapshot with the next frame. */
  #startOver(): void {
    this.#newcomers = this.#sockets.viewers();
    this.#changes = noChanges();
    if (this.#newcomers.length > 0) this.#schedule();
  }

  /** The content of the next frame; the rest waits for the one after it. */
  #nextChanges(): LiveChanges {
    const { jobs, workers, forgotten, modelTasks, topics } = this.#changes;
    const [jobsNow, jobsLater] = split(jobs);
    const [workersNow, workersLater] = split(workers);
    this.#changes = { ...noChanges(), jobs: jobsLater, workers: workersLater };
    this.#addSums(topics);
    const isMoreToTell = this.#isQueueChanged || this.#isFleetChanged;
    if (jobsLater.size + workersLater.size > 0 || isMoreToTell) this.#schedule();
    return { jobs: jobsNow, workers: workersNow, forgotten, modelTasks, topics };
  }

  /** Totals over all jobs or workers are sent only from time to time. */
  #addSums(topics: LiveChanges["topics"]): void {
    const nowAt = Date.now();
    if (this.#isQueueChanged && hasPassed(QUEUE_EVERY_MS, this.#queueToldAt, nowAt)) {
      topics.add("queue");
      this.#isQueueChanged = false;
      this.#queueToldAt = nowAt;
    }
    const fleetEveryMs = Math.max(QUEUE_EVERY_MS, this.#fleetSize * FLEET_EVERY_MS_A_WORKER);
    if (this.#isFleetChanged && hasPassed(fleetEveryMs, this.#fleetToldAt, nowAt)) {
      topics.add("fleet");
      this.#isFleetChanged = false;
      this.#fleetToldAt = nowAt;
    }
  }

  /** The queue, the minutes and the fleet are read after every change, and are often the same. */
  #isNews(message: LiveMessage): boolean {
    if (!SUMS.has(message.type)) return true;
    const text = JSON.stringify(message);
    const isNews = this.#lastSent.get(message.type) !== text;
    this.#lastSent.set(message.type, text);
    return isNews;
  }
}

/** Also if the clock was set back since then. */
const hasPassed = (ms: number, sinceAt: number, nowAt: number): boolean => nowAt - sinceAt >= ms || nowAt < sinceAt;

const split = (names: ReadonlySet<string>): [Set<string>, Set<string>] => {
  const all = [...names];
  return [new Set(all.slice(0, MAX_LIVE_RESOURCES)), new Set(all.slice(MAX_LIVE_RESOURCES))];
};

/** Serialises once; only `seq` differs per viewer. It lives in the attachment to survive hibernation. */
const sendNumbered = (viewers: readonly TenantSocket[], messages: readonly LiveMessage[]): void => {
  const texts = messages.map((message) => JSON.stringify(message).slice(0, -1));
  for (const viewer of viewers) {
    const { attachment } = viewer;
    if (attachment === null) continue;
    const numbered = texts.map((text, index) => `${text},"seq":${attachment.seq + index + 1}}`);
    viewer.attach({ ...attachment, seq: attachment.seq + texts.length });
    viewer.send(numbered.length === 1 ? (numbered[0] ?? "") : `[${numbered.join(",")}]`);
  }
};
