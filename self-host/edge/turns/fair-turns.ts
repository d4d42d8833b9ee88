// Whose turn it is for heavy work, for parsing a long body, for opening streams, for reading jobs from history, and for
// storing and sending files. All tenants share this process and the objects' process, so with several active tenants
// each does one heavy call at a time and leaves twice the time that these take to the others, parses one body and leaves
// three times that, opens few streams, and stores and sends few files at a time; a single active tenant is hardly limited.

import type { Work } from "../../../src/home.ts";
import { Refused } from "../../../src/http/refused.ts";

interface Rule {
  readonly aloneAtATime: number;
  readonly besideOthersAtATime: number;
  /** How much of the time that it took is left to the others. */
  readonly gapShare: number;
  /** What took less leaves them nothing. */
  readonly gapFromMs?: number;
  /** Time without work before a request shortens the gap after it, by this at most. */
  readonly savedMs?: number;
  /** What takes longer waits for its client most of the time, and keeps no turn. */
  readonly longestMs?: number;
  /** A tenant that is alone takes no turns. */
  readonly onlyBesideOthers?: true;
}

const RULES: Readonly<Partial<Record<Work, Rule>>> = {
  // A list that took long because of another tenant's work keeps the same page's next ones from waiting as long again.
  heavy: { aloneAtATime: 8, besideOthersAtATime: 1, gapShare: 2, savedMs: 500 },
  // Each call of another tenant takes several turns of the event loop, and would meet such a step in all of them.
  parsing: { aloneAtATime: 1, besideOthersAtATime: 1, gapShare: 3, gapFromMs: 3 },
  telling: {
    aloneAtATime: 1,
    besideOthersAtATime: 1,
    gapShare: 2,
    gapFromMs: 3,
    longestMs: 50,
    onlyBesideOthers: true,
  },
  opening: { aloneAtATime: 64, besideOthersAtATime: 4, gapShare: 0 },
  reading: { aloneAtATime: 16, besideOthersAtATime: 2, gapShare: 0 },
  storing: { aloneAtATime: 64, besideOthersAtATime: 2, gapShare: 0, longestMs: 50 },
  sending: { aloneAtATime: 64, besideOthersAtATime: 2, gapShare: 0 },
  // One whose client does not read costs the objects' process up to 2 MiB.
  sent: { aloneAtATime: 128, besideOthersAtATime: 128, gapShare: 0 },
};

const MAX_GAP_MS = 500;
const LONGEST_WAIT_MS = 10_000;
const RETRY_SECONDS = 2;
const NEVER = Number.POSITIVE_INFINITY;
/** One without a request for this long counts as inactive. */
const QUIET_AFTER_MS = 1_000;
const NOBODY = { name: "", at: Number.NEGATIVE_INFINITY };

interface QueuedRequest {
  readonly start: () => void;
  readonly untilAt: number;
  readonly refuse: () => void;
}

class Queue {
  readonly rule: Rule;
  running = 0;
  nextAt = Number.NEGATIVE_INFINITY;
  readonly waiting: QueuedRequest[] = [];
  timer: NodeJS.Timeout | undefined;

  constructor(rule: Rule) {
    this.rule = rule;
  }
}

/** Whether one of several that share something is alone at it, or beside others. */
export class Company {
  readonly #now: () => number;
  /** The last two with requests, the latest first. */
  #latest = NOBODY;
  #other = NOBODY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  note(name: string): void {
    if (this.#latest.name !== name) this.#other = this.#latest;
    this.#latest = { name, at: this.#now() };
  }

  /** It is the one with the latest request, and no other had one lately. */
  isAlone(name: string): boolean {
    return this.#latest.name === name && !this.isBesideOthers(name);
  }

  isBesideOthers(name: string): boolean {
    const { at } = this.#latest.name === name ? this.#other : this.#latest;
    return at > this.#now() - QUIET_AFTER_MS;
  }
}

/** Runs `end` when the result is called, or after `longestMs`; not twice. */
const onceWithin = (longestMs: number | undefined, end: () => void): (() => void) => {
  if (longestMs === undefined) return end;
  let isOver = false;
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    end();
  };
  const timer = setTimeout(over, longestMs).unref();
  return over;
};

export class FairTurns {
  /** By kind of work and tenant. */
  readonly #queues = new Map<string, Queue>();
  readonly #now: () => number;
  readonly #tenants: Company;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#tenants = new Company(now);
  }

  isBesideOthers(tenant: string): boolean {
    return this.#tenants.isBesideOthers(tenant);
  }

  /** Resolves when the tenant may go on; call the result to end the turn. Null for work that waits for none. */
  take(tenant: string, work: Work): Promise<() => void> | null {
    this.#tenants.note(tenant);
    const rule = RULES[work];
    if (rule === undefined) return null;
    const name = `${work} ${tenant}`;
    const isFree = rule.onlyBesideOthers === true && !this.#queues.has(name) && !this.#tenants.isBesideOthers(tenant);
    return isFree ? null : this.#takeTurn(tenant, name, rule);
  }

  async #takeTurn(tenant: string, name: string, rule: Rule): Promise<() => void> {
    const queue = this.#queues.get(name) ?? new Queue(rule);
    this.#queues.set(name, queue);
    await new Promise<void>((resolve, reject) => {
      const refuse = (): void => reject(new Refused({ code: "rate_limited", retryAfterSeconds: RETRY_SECONDS }));
      queue.waiting.push({ start: resolve, untilAt: this.#now() + LONGEST_WAIT_MS, refuse });
      this.#startDue(tenant, name, queue);
    });
    const startedAt = this.#now();
    return onceWithin(rule.longestMs, () => this.#end(tenant, name, queue, startedAt));
  }

  /** For what keeps the thread: it ends with this turn of the event loop. */
  async takeStep(tenant: string): Promise<void> {
    const end = await this.take(tenant, "parsing");
    if (end !== null) setImmediate(end);
  }

  #end(tenant: string, name: string, queue: Queue, startedAt: number): void {
    queue.running -= 1;
    const endedAt = this.#now();
    const { gapShare, gapFromMs = 0, savedMs = 0 } = queue.rule;
    const tookMs = endedAt - startedAt;
    if (tookMs >= gapFromMs && this.#tenants.isBesideOthers(tenant)) {
      const countedFromAt = Math.max(queue.nextAt, startedAt - savedMs);
      queue.nextAt = Math.min(countedFromAt + tookMs * (1 + gapShare), endedAt + MAX_GAP_MS);
    }
    this.#startDue(tenant, name, queue);
  }

  #startDue(tenant: string, name: string, queue: Queue): void {
    const nowAt = this.#now();
    while (queue.waiting[0] !== undefined && queue.waiting[0].untilAt <= nowAt) queue.waiting.shift()?.refuse();
    const isBeside = this.#tenants.isBesideOthers(tenant);
    const { aloneAtATime, besideOthersAtATime } = queue.rule;
    const room = isBeside ? besideOthersAtATime : aloneAtATime;
    const gapMs = isBeside ? queue.nextAt - nowAt : 0;
    while (gapMs <= 0 && queue.running < room && queue.waiting.length > 0) {
      queue.running += 1;
      queue.waiting.shift()?.start();
    }
    this.#lookAgain(
      tenant,
      name,
      queue,
      Math.min(gapMs > 0 ? gapMs : NEVER, (queue.waiting[0]?.untilAt ?? NEVER) - nowAt),
    );
  }

  /** At the end of the gap, or when the first that waits has waited too long; a queue that says nothing more may go. */
  #lookAgain(tenant: string, name: string, queue: Queue, dueMs: number): void {
    clearTimeout(queue.timer);
    const { savedMs = 0 } = queue.rule;
    const savingMs = savedMs === 0 ? 0 : queue.nextAt + savedMs - this.#now();
    const afterMs = Math.min(dueMs, queue.running === 0 && savingMs > 0 ? savingMs : NEVER);
    if (afterMs < NEVER) queue.timer = setTimeout(() => this.#startDue(tenant, name, queue), afterMs).unref();
    else if (queue.running === 0) this.#queues.delete(name);
  }
}
