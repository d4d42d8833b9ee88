// Carries batches on: asks the object of a batch's file for what the tenant's next step needs, and tells the tenant the
// answer in a turn. One step of a batch at a time; a step that failed is asked again when the timetable looks. Like other
// new jobs, new lines wait for a history that is behind.

import { within } from "../../contract/text/within.ts";
import { ok } from "../../domain/words/result.ts";
import { log } from "../../log/log.ts";
import { SERVICE, type TurnRunner } from "../calls/turn-runner.ts";
import type { BatchFiles } from "../files/file-objects.ts";
import { type BatchStep, closed, fed, learned, nextStepOf, recorded } from "../sweep/batch-steps.ts";
import type { Turn } from "../turn/turn.ts";

/** What a line and the rest of its request take, about. */
const LINE_CHARS = 1_000;

interface CarrierTools {
  readonly tenant: string;
  readonly turns: Pick<TurnRunner, "decide" | "read">;
  readonly files: BatchFiles;
  /** Resolves when history is near enough for new jobs of so many characters, after some seconds at the latest. */
  readonly roomFor: (chars: number) => Promise<void>;
}

/** A step that takes longer keeps no other waiting. */
const LONGEST_STEP_MS = 5_000;
const MAX_GAP_MS = 100;

/** What the tenant does with an answer; false if nothing. */
type Heard = (turn: Turn) => unknown;

export class BatchCarrier {
  readonly #tools: CarrierTools;
  /** Batches under way, and whether they were asked for again meanwhile. */
  readonly #running = new Map<string, boolean>();
  #lastLong: Promise<unknown> | null = null;

  constructor(tools: CarrierTools) {
    this.#tools = tools;
  }

  async carry(id: string): Promise<void> {
    if (this.#running.has(id)) {
      this.#running.set(id, true);
      return;
    }
    try {
      do {
        this.#running.set(id, false);
        while (await this.#step(id));
      } while (this.#running.get(id) === true);
    } catch (error) {
      log("warn", "batch.failed", { tenant: this.#tools.tenant, target: id }, error);
    } finally {
      this.#running.delete(id);
    }
  }

  /** False if nothing is to be done, or what was done changed nothing. */
  async #step(id: string): Promise<boolean> {
    const { turns, roomFor } = this.#tools;
    const next = (): Promise<BatchStep | null> =>
      turns.read((turn) => (turn.memory.absence === null ? nextStepOf(turn, id) : null));
    let step = await next();
    if (step?.do === "take") {
      await roomFor(step.limit * LINE_CHARS);
      // Meanwhile lines may have ended, or the batch.
      step = await next();
    }
    if (step === null) return false;
    const heard = await this.#ask(step);
    if (heard === null) return true;
    const done = await turns.decide(SERVICE, (turn) => ok(heard(turn) !== false));
    return done.ok && done.value;
  }

  async #ask(step: BatchStep): Promise<Heard | null> {
    const { id } = step;
    const { files } = this.#tools;
    const file = files.of(step.fileId);
    const input = { ...files.home, fileId: step.fileId };
    switch (step.do) {
      case "learn": {
        const asked = { batch: id, bytes: step.bytes, ...step.rules };
        const found = await this.#inTurn(() => file.learnBatch(asked, step.keptUntil, input));
        return found.is === "reading" ? null : (turn) => learned(turn, id, found);
      }
      case "record": {
        await file.recordLines(id, step.answers, files.home);
        return (turn) => recorded(turn, id, step.answers);
      }
      case "take": {
        const lines = await file.takeLines(id, step.model, step.cursor, step.limit, input);
        return (turn) => fed(turn, step, lines);
      }
      case "close": {
        const made = await this.#inTurn(() => file.closeBatch(id, step.ending, step.expiresAt));
        return made === null ? null : (turn) => closed(turn, id, made, step.expiresAt);
      }
    }
  }

  /**
   * Other tenants wait for the same thread, so that of many batches one does such a step at a time, and as much time as it
   * took is left to the others: between steps that follow each other at once the thread looks for nothing new.
   */
  async #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const before = this.#lastLong;
    const over = Promise.withResolvers<void>();
    this.#lastLong = over.promise;
    await before;
    const startedAt = Date.now();
    const work = step();
    const end = (): void => {
      over.resolve();
      if (this.#lastLong === over.promise) this.#lastLong = null;
    };
    const leaveGap = (): void => void setTimeout(end, Math.min(Date.now() - startedAt, MAX_GAP_MS));
    within(work, LONGEST_STEP_MS).then(leaveGap, leaveGap);
    return work;
  }
}
