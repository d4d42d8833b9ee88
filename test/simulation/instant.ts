// A promise that holds until an exact instant: a sentence, and what shows it with a clock that only the test moves.

import type { Refusal } from "../../domain/refusal.ts";
import type { Result } from "../../domain/result.ts";
import type { AnswerOf, OperationName, RequestOf } from "../../durable-objects/api.ts";
import type { Credential } from "../../durable-objects/operations/keys.ts";
import { World } from "./world.ts";

export interface Instant {
  readonly what: string;
  readonly shown: (scene: Scene) => Promise<void>;
}

/** A tenant whose every call ends before the next, without a fault. */
export class Scene {
  readonly #world = new World(1);

  static async of(shown: Instant["shown"]): Promise<void> {
    const scene = new Scene();
    try {
      await scene.#world.begin();
      await shown(scene);
      const [surprise] = scene.#world.shell.surprises;
      if (surprise !== undefined) throw new Error(surprise);
    } finally {
      scene.#world.shell.close();
    }
  }

  readonly admin = this.#world.admin;

  get nowAt(): number {
    return this.#world.shell.clock.nowAt;
  }

  /** Time passes; what is due meanwhile is done. */
  pass(ms: number): Promise<void> {
    return this.#world.shell.advance(ms);
  }

  /** The object is unloaded: what it did not store is forgotten. */
  sleep(): void {
    this.#world.shell.crash("evicted");
  }

  async ask<Name extends OperationName>(
    credential: Credential,
    name: Name,
    request: RequestOf<Name>,
  ): Promise<Result<AnswerOf<Name>, Refusal>> {
    const asking = this.#world.shell.call(credential, name, request);
    await this.#world.shell.settle();
    const answer = await asking;
    if (answer === null) throw new Error(`${name} was not answered`);
    return answer;
  }

  /** The answer to a request that must succeed. */
  async done<Name extends OperationName>(
    credential: Credential,
    name: Name,
    request: RequestOf<Name>,
  ): Promise<AnswerOf<Name>> {
    const answer = await this.ask(credential, name, request);
    if (!answer.ok) throw new Error(`${name} was refused: ${JSON.stringify(answer.error)}`);
    return answer.value;
  }

  /** A job as history has it. */
  archived(id: string) {
    const archived = this.#world.archived(id);
    if (archived === null) throw new Error(`history has no job ${id}`);
    return archived;
  }

  rows(query: string, ...values: (string | number)[]) {
    return this.#world.shell.disk.rows(query, ...values);
  }
}
