// A command of the model run: what it does to the model and to the tenant, with a text that makes counterexamples
// readable.

import type fc from "fast-check";
import { agree } from "./agreement.ts";
import type { Model } from "./model.ts";
import type { System } from "./system.ts";

/** Text for a counterexample. */
type Words = readonly unknown[];

export abstract class Step implements fc.AsyncCommand<Model, System> {
  /** Nothing that would wake the object follows a sleep before the next step. */
  readonly isSeen: boolean = true;

  abstract words(): Words;
  abstract take(model: Model, system: System): Promise<void>;

  check(_model: Readonly<Model>): boolean {
    return true;
  }

  async run(model: Model, system: System): Promise<void> {
    model.expand();
    await this.take(model, system);
    if (this.isSeen) await agree(model, system);
  }

  toString(): string {
    return this.words()
      .filter((word) => word !== null && word !== false)
      .join(" ");
  }
}

/** A choice that stays the same when the run before it is shrunk. */
export const pick = <T>(options: readonly T[], choice: number): T | undefined =>
  options.length === 0 ? undefined : options[choice % options.length];
