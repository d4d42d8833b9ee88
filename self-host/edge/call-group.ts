// One tenant's calls, in groups: calls that arrive in one tick go together, and those that arrive during a group go
// with the next. A tenant's throughput is limited by the number of messages to its object, not by the calls in them.
// Vital calls (`api.ts`) go first, and beside a group that takes long, so they never wait for bulk traffic. What a group
// with long answers leaves undone goes first in the next. A group without an answer fails all of its calls; each caller
// decides whether to ask again.

import { setImmediate as tickEnd } from "node:timers/promises";
import { OPERATIONS } from "../../durable-objects/api.ts";
import { type GroupedCall, NEXT } from "../../durable-objects/calls/grouped-calls.ts";

/** As many turns as one commit takes. */
const MAX_CALLS_A_GROUP = 256;
/**
 * Bounds a message, and for how many ms others of this process wait for its turns; one call may have more alone. A report
 * of all that a worker offers takes half a microsecond a character.
 */
const MAX_CHARS_A_GROUP = { alone: 256_000, besideOthers: 16_000 };
/** After this vital calls do not wait for the current group any longer. */
const PATIENCE_MS = 20;

interface QueuedCall {
  readonly text: string;
  readonly isVital: boolean;
  readonly resolve: (outcome: string) => void;
  readonly reject: (error: unknown) => void;
}

export class CallGroup {
  readonly #send: (group: string) => Promise<readonly string[]>;
  readonly #isBesideOthers: () => boolean;
  readonly #onIdle: () => void;
  #vital: QueuedCall[] = [];
  #waiting: QueuedCall[] = [];
  #underWay = 0;
  #impatience: NodeJS.Timeout | null = null;

  /** `send` resolves to the line of each call's outcome; `isBesideOthers`: whether other tenants are active. */
  constructor(
    send: (group: string) => Promise<readonly string[]>,
    onIdle: () => void,
    isBesideOthers: () => boolean = () => false,
  ) {
    this.#send = send;
    this.#isBesideOthers = isBesideOthers;
    this.#onIdle = onIdle;
  }

  /** Resolves to the line of the call's outcome. */
  add(call: GroupedCall, text = JSON.stringify(call)): Promise<string> {
    const isVital = "isVital" in OPERATIONS[call.name];
    return new Promise((resolve, reject) => {
      (isVital ? this.#vital : this.#waiting).push({ text, isVital, resolve, reject });
      if (this.#underWay === 0) void this.#run();
      else if (this.#vital.length > 0) this.#beImpatient();
    });
  }

  async #run(): Promise<void> {
    this.#underWay += 1;
    await tickEnd();
    let sent = this.#sendNext();
    while (sent !== null) {
      const tell = await sent;
      // The next group goes first, so that the object works on it while these callers are answered.
      sent = this.#sendNext();
      tell();
    }
    this.#leave();
  }

  #sendNext(): Promise<() => void> | null {
    const group = this.#take(this.#vital);
    group.push(...this.#take(this.#waiting, group));
    return group.length === 0 ? null : this.#sendOne(group);
  }

  /** The first calls of a queue that fit into a group beside those it has. */
  #take(queue: QueuedCall[], before: readonly QueuedCall[] = []): QueuedCall[] {
    const maxChars = this.#isBesideOthers() ? MAX_CHARS_A_GROUP.besideOthers : MAX_CHARS_A_GROUP.alone;
    let chars = before.reduce((sum, { text }) => sum + text.length, 0);
    let count = before.length;
    for (const { text } of queue) {
      chars += text.length;
      if (count > 0 && (chars > maxChars || count === MAX_CALLS_A_GROUP)) break;
      count += 1;
    }
    return queue.splice(0, count - before.length);
  }

  /** Sends one more message beside the current group, if a vital call still waits. */
  #beImpatient(): void {
    this.#impatience ??= setTimeout(() => {
      this.#impatience = null;
      if (this.#vital.length > 0) void this.#runBeside();
    }, PATIENCE_MS);
  }

  async #runBeside(): Promise<void> {
    this.#underWay += 1;
    const tell = await this.#sendOne(this.#take(this.#vital));
    tell();
    this.#leave();
  }

  #leave(): void {
    this.#underWay -= 1;
    if (this.#underWay > 0) return;
    // Calls that arrived while the last message was answered.
    if (this.#vital.length + this.#waiting.length > 0) void this.#run();
    else this.#onIdle();
  }

  /** Resolves to a function that answers the callers. */
  async #sendOne(group: readonly QueuedCall[]): Promise<() => void> {
    try {
      const outcomes = await this.#send(`[${group.map(({ text }) => text).join(",")}]`);
      const undone = group.filter((_, index) => outcomes[index] === NEXT);
      this.#vital.unshift(...undone.filter((call) => call.isVital));
      this.#waiting.unshift(...undone.filter((call) => !call.isVital));
      return () => tellAll(group, outcomes);
    } catch (error) {
      return () => {
        for (const { reject } of group) reject(error);
      };
    }
  }
}

const tellAll = (group: readonly QueuedCall[], outcomes: readonly string[]): void => {
  for (const [index, { resolve, reject }] of group.entries()) {
    const outcome = outcomes[index];
    if (outcome === undefined) reject(new Error("the group's answer is incomplete"));
    else if (outcome !== NEXT) resolve(outcome);
  }
};
