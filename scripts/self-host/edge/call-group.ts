// One tenant's calls, in groups: what arrives in one tick goes together, and what arrives while a group is under way
// goes with the next. What limits a tenant is the number of messages to its object, not the number of calls in them. A group that gets no answer fails all of its
// calls; each caller decides whether to ask again.

import { setImmediate as tickEnd } from "node:timers/promises";
import type { GroupedCall, Outcome } from "../../../durable-objects/grouped-calls.ts";

/** As many turns as one commit takes. */
const MAX_CALLS_A_GROUP = 256;
/** Bounds a message; one call is at most a batch's body. */
const MAX_CHARS_A_GROUP = 4_000_000;

interface Waiting {
  readonly text: string;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class CallGroup {
  readonly #send: (group: string) => Promise<unknown>;
  readonly #onIdle: () => void;
  #waiting: Waiting[] = [];
  #isUnderWay = false;

  constructor(send: (group: string) => Promise<unknown>, onIdle: () => void) {
    this.#send = send;
    this.#onIdle = onIdle;
  }

  add(call: GroupedCall): Promise<unknown> {
    const text = JSON.stringify(call);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, resolve, reject });
      if (!this.#isUnderWay) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isUnderWay = true;
    while (this.#waiting.length > 0) {
      await tickEnd();
      await this.#sendOne(this.#take());
    }
    this.#isUnderWay = false;
    this.#onIdle();
  }

  #take(): Waiting[] {
    let chars = 0;
    let count = 0;
    for (const { text } of this.#waiting) {
      chars += text.length;
      if (count > 0 && (chars > MAX_CHARS_A_GROUP || count === MAX_CALLS_A_GROUP)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #sendOne(group: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = (await this.#send(`[${group.map(({ text }) => text).join(",")}]`)) as readonly Outcome[];
      for (const [index, { resolve, reject }] of group.entries()) {
        const outcome = outcomes[index];
        if (outcome === undefined) reject(new Error("the group's answer is short"));
        else if ("thrown" in outcome) reject(Object.assign(new Error(outcome.thrown.message), outcome.thrown));
        else resolve(outcome.value);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
