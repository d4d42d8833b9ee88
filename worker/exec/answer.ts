// What a program has answered so far: its text, its result, what it spent, its files. The last result and the last
// usage count. Invariant: it holds no more than the largest result, however much the program writes.

import path from "node:path";
import { utf8Bytes } from "../../contract/words/field.ts";
import { MAX_LARGE_RESULT_BYTES } from "../../contract/words/values.ts";
import { writeEvent } from "../apis/sse.ts";
import type { Spent } from "../apis/usage.ts";
import { failed, type JobFailure, type JobTask, type Outcome, type RunOptions } from "../calls/runtime.ts";
import type { FileBytes, JobFiles } from "../job-files.ts";
import type { Instruction } from "./instruction.ts";

/** An event of a stream, which must fit into a part of the data line when all of it is escaped. */
const MAX_EVENT_CHARS = 64 * 1024;

type AnswerOptions = {
  task: JobTask;
  options: RunOptions;
  files: JobFiles;
  /** What the result is when there is neither text nor a result. */
  empty: "" | null;
  model: string | null;
  /** Opens a file that the program names. @throws Error with words for the caller. */
  open: (name: string) => Promise<FileBytes> | FileBytes;
};

export class Answer {
  readonly #given: AnswerOptions;
  #texts: string[] = [];
  #textBytes = 0;
  #outputChars = 0;
  #result: { value: unknown } | null = null;
  #spent: Spent = {};
  #failure: JobFailure | null = null;
  #hasProgress = false;

  constructor(given: AnswerOptions) {
    this.#given = given;
  }

  /** Why the job fails, whatever the program does further. */
  get failure(): JobFailure | null {
    return this.#failure;
  }

  get spent(): Spent {
    const { model } = this.#given;
    return { ...this.#spent, ...(model === null ? {} : { model }) };
  }

  /** A returned promise asks the program's reader to wait. */
  take(told: Instruction): Promise<void> | undefined {
    const { options } = this.#given;
    if (options.signal.aborted) return undefined;
    switch (told.key) {
      case "text":
        return this.#say(told.text);
      case "progress": {
        const { key: _key, ...progress } = told;
        this.#hasProgress = true;
        options.onProgress(progress);
        return undefined;
      }
      case "result":
        this.#result = { value: told.result };
        return undefined;
      case "usage":
        this.spend({ usage: told.usage });
        return undefined;
      case "cost_usd":
        this.spend({ cost_usd: told.costUsd });
        return undefined;
      case "file":
        return this.#keep(told.file);
      case "error":
        this.fail(told.error);
        return undefined;
    }
  }

  /** Counts for a job that was taken back, too. */
  spend(spent: Pick<Spent, "usage" | "cost_usd">): void {
    this.#spent = { ...this.#spent, ...spent };
  }

  /** The first failure counts. */
  fail(error: JobFailure): void {
    this.#failure ??= error;
  }

  outcome(): Outcome {
    if (this.#failure !== null) return failed(this.#failure, this.spent);
    const text = this.#texts.join("");
    const result = this.#result === null ? (text === "" ? this.#given.empty : text) : this.#result.value;
    return { ok: true, result, ...this.spent };
  }

  #say(text: string): Promise<void> | undefined {
    if (text === "" || this.#failure !== null) return undefined;
    this.#textBytes += utf8Bytes(text);
    if (this.#textBytes > MAX_LARGE_RESULT_BYTES) {
      this.fail(tooMuch());
      this.#texts = [];
      return undefined;
    }
    const { emit, onProgress } = this.#given.options;
    this.#texts.push(text);
    this.#outputChars += text.length;
    if (!this.#hasProgress) onProgress({ output_chars: this.#outputChars });
    return emit(eventsOf(text));
  }

  async #keep(name: string): Promise<void> {
    const { task, options, files, open } = this.#given;
    try {
      const sent = await files.send(task.job, path.basename(name), await open(name), options.signal);
      if (!sent.ok) this.fail(sent.error);
    } catch (error) {
      this.fail({ code: "file_not_kept", message: (error as Error).message, retryable: false });
    }
  }
}

const eventsOf = (text: string): string[] => {
  const events: string[] = [];
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at + MAX_EVENT_CHARS - 1);
    // A pair of surrogates stays together.
    const end = at + MAX_EVENT_CHARS - (code >= 0xd800 && code <= 0xdbff ? 1 : 0);
    events.push(writeEvent({ text: text.slice(at, end) }));
    at = end;
  }
  return events;
};

export const tooMuch = (): JobFailure => {
  const message = `The program wrote more than the limit of ${MAX_LARGE_RESULT_BYTES} bytes and was stopped; write less, or to stderr what is no answer`;
  return { code: "result_too_large", message, retryable: false };
};
