// What a program has answered so far: its text, its result, what it spent, its files. The last result and the last
// usage count. To the client of an API its text is an answer of that API. Invariant: it holds no more than the largest
// result, however much the program writes.

import path from "node:path";
import { dataOf } from "../../contract/text/event-text.ts";
import { objectOf } from "../../contract/text/json-object.ts";
import { startOf } from "../../contract/text/start-of.ts";
import { utf8Bytes } from "../../contract/words/field.ts";
import { type Api, MAX_LARGE_RESULT_BYTES } from "../../contract/words/values.ts";
import { isAnswerOf, mainField } from "../apis/dialect.ts";
import { DIALECTS } from "../apis/dialects.ts";
import { writeEvent } from "../apis/sse.ts";
import { asksSeveral, type TextAnswer, textAnswerOf } from "../apis/text-answers.ts";
import type { Spent } from "../apis/usage.ts";
import { vectorsAsAsked } from "../apis/vectors.ts";
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
  /** How the job's API writes a text; null for ordinary jobs, and if its answers are none. */
  readonly #form: TextAnswer | null;
  readonly #asksSeveral: boolean;
  #texts: string[] = [];
  #textBytes = 0;
  #outputChars = 0;
  /** As JSON; undefined: none. */
  #result: unknown;
  #spent: Spent = {};
  #failure: JobFailure | null = null;
  #hasProgress = false;

  constructor(given: AnswerOptions) {
    this.#given = given;
    this.#form = textAnswerOf(given.task.api, given.model ?? "");
    this.#asksSeveral = asksSeveral(given.task.api, objectOf(given.task.input));
  }

  /** Whether text can be the answer. */
  get isTextual(): boolean {
    const { api } = this.#given.task;
    return this.#form !== null || api === null || takesText(api);
  }

  get hasText(): boolean {
    return this.#texts.length > 0;
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
    // What was spent counts for a job that was taken back, too.
    if (options.signal.aborted && told.key !== "usage" && told.key !== "cost_usd") return undefined;
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
        this.#result = told.result;
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

  spend(spent: Pick<Spent, "usage" | "cost_usd">): void {
    this.#spent = { ...this.#spent, ...spent };
  }

  /** The first failure counts. */
  fail(error: JobFailure): void {
    this.#failure ??= error;
  }

  async outcome(): Promise<Outcome> {
    if (this.#failure !== null) return failed(this.#failure, this.spent);
    const { api } = this.#given.task;
    const text = this.#texts.join("");
    // Beside text a null is no answer of an API: who reads the text as it is written has it already.
    const hasResult = this.#result !== undefined && (this.#result !== null || api === null || text === "");
    const result = hasResult ? this.#result : text === "" ? this.#given.empty : text;
    if (api === null) return { ok: true, result, ...this.spent };
    const isText = typeof result === "string" && this.isTextual;
    if (isText && this.#asksSeveral) return failed(SEVERAL_PROMPTS, this.spent);
    // Before the end of its text is told: a stream without an answer must not look whole, and neither must an object of
    // another kind.
    if (!isText && !isAnswerOf(DIALECTS[api], result)) return failed(this.none(), this.spent);
    const whole = isText || this.hasText ? await this.#end(api, isText ? result : text) : null;
    if (isText) return { ok: true, result: whole ?? this.#transcript(result), ...this.spent };
    const asked = api === "embeddings" ? vectorsAsAsked(objectOf(this.#given.task.input), objectOf(result)) : result;
    return { ok: true, result: asked, ...DIALECTS[api].spentOf(result), ...this.spent };
  }

  /** A text of which there are no events. */
  #transcript(text: string): unknown {
    const { job, input } = this.#given.task;
    return !job.stream && AS_TEXT.includes(objectOf(input).response_format) ? text : { text };
  }

  /** The failure of an API's job that came to no answer. */
  none(): JobFailure {
    const { api } = this.#given.task;
    const has = api === null ? "" : mainField(DIALECTS[api]);
    const message = `There is no answer of ${api}: the result must be ${this.isTextual ? "text, or " : ""}an object with "${has}"`;
    return { code: "bad_output", message, retryable: false };
  }

  /** Ends the events of the text. @returns the whole answer. */
  async #end(api: Api, text: string): Promise<unknown> {
    const assembly = DIALECTS[api].assemble?.();
    if (this.#form === null || assembly === undefined) return null;
    const { before, piece, after } = this.#form;
    const begin = this.hasText ? [] : [...before, ...piecesOf(text).map(piece)];
    const end = after(text, this.#spent.usage ?? null);
    await this.#given.options.emit([...begin, ...end]);
    for (const event of [...before, piece(text), ...end]) assembly.take(dataOf(event));
    return assembly.result();
  }

  #say(text: string): Promise<void> | undefined {
    if (text === "" || this.#failure !== null) return undefined;
    if (this.#asksSeveral) return void this.fail(SEVERAL_PROMPTS);
    this.#textBytes += utf8Bytes(text);
    if (this.#textBytes > MAX_LARGE_RESULT_BYTES) {
      this.fail(tooMuch());
      this.#texts = [];
      return undefined;
    }
    const { emit, onProgress } = this.#given.options;
    const before = this.hasText ? [] : (this.#form?.before ?? []);
    this.#texts.push(text);
    this.#outputChars += text.length;
    if (!this.#hasProgress) onProgress({ output_chars: this.#outputChars });
    const piece = this.#given.task.api === null ? textEvent : this.#form?.piece;
    return piece && emit([...before, ...piecesOf(text).map(piece)]);
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

/** A client would take the text for the answer to the first. */
const SEVERAL_PROMPTS: JobFailure = {
  code: "unsupported_parameter",
  message: "prompt: this program answers one in a request, not a list of several",
  status: 400,
  retryable: false,
};

const textEvent = (text: string): string => writeEvent({ text });

/** Forms of a transcript that are no JSON. */
const AS_TEXT: readonly unknown[] = ["text", "srt", "vtt"];

/** Sound comes in bytes, too, and is no text. */
const takesText = (api: Api): boolean => DIALECTS[api].answersInBytes === true && DIALECTS[api].speaks !== true;

const piecesOf = (text: string): string[] => {
  const pieces: string[] = [];
  for (let left = text; left !== ""; ) {
    const piece = startOf(left, MAX_EVENT_CHARS);
    pieces.push(piece);
    left = left.slice(piece.length);
  }
  return pieces;
};

export const tooMuch = (): JobFailure => {
  const message = `The program wrote more than the limit of ${MAX_LARGE_RESULT_BYTES} bytes and was stopped; write less, or to stderr what is no answer`;
  return { code: "result_too_large", message, retryable: false };
};
