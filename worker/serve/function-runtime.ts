// A function as a runtime. Its run ends when the function does, so that a halt is confirmed only when it is true; what
// a function returns after its job was taken from it, or after its timeout, goes nowhere.

import { setImmediate as tickEnd } from "node:timers/promises";
import { format } from "node:util";
import type { LeasedJob } from "../../contract/fleet/worker.ts";
import { saysItsEnd } from "../../contract/front-door/dialect.ts";
import { dataOf } from "../../contract/text/event-text.ts";
import { isObject, objectOf, parseJson } from "../../contract/text/json-object.ts";
import { type Api, MAX_LARGE_RESULT_BYTES } from "../../contract/words/values.ts";
import { type Assembly, isAnswerOf } from "../apis/dialect.ts";
import { DIALECTS } from "../apis/dialects.ts";
import { writeEvent } from "../apis/sse.ts";
import { COUNTS } from "../apis/usage.ts";
import {
  failed,
  type JobFailure,
  type JobTask,
  type Outcome,
  probedOutcome,
  type RunOptions,
  type Runtime,
} from "../calls/runtime.ts";
import { Answer } from "../exec/answer.ts";
import { factsOf } from "../job-facts.ts";
import type { JobFiles } from "../job-files.ts";
import { failureBy } from "./failure.ts";
import { type Context, Fail, FileNotKept, type Handler, type ServeOptions } from "./handler.ts";

/** A function that goes on for so long after its signal does not heed it. */
const HEEDS_WITHIN_MS = 10_000;

const GONE: JobFailure = { code: "aborted", message: "The job is no longer this worker's", retryable: false };

export type FunctionOptions = {
  handler: Handler;
  name: string;
  url: string;
  concurrency: number;
  models: readonly string[];
  apis: NonNullable<ServeOptions["apis"]>;
  files: JobFiles;
  log: (line: string) => void;
  /** Functions that heed no signal began or ceased to hold places. */
  onStuck: () => void;
};

export const createFunctionRuntime = (given: FunctionOptions): Runtime => {
  const { apis, concurrency, log, onStuck } = given;
  let stuckCount = 0;
  const unavailable = () =>
    stuckCount < concurrency
      ? null
      : `${stuckCount} jobs have ended, but their handlers go on: they must heed context.signal`;
  const probe = async () => ({ unavailable: unavailable(), apis, models: null });
  return {
    name: given.name,
    address: null,
    probeEveryMs: 0,
    probe,
    run: async ({ job, ...task }, options) => {
      if (job === null) return probedOutcome({ probe });
      let isStuck = false;
      let timer: NodeJS.Timeout | undefined;
      const count = () => {
        isStuck = true;
        stuckCount += 1;
        log(`job ${job.id} has ended, but its handler goes on: it must heed context.signal`);
        onStuck();
      };
      const wait = () => {
        timer = setTimeout(count, HEEDS_WITHIN_MS);
        timer.unref();
      };
      options.signal.addEventListener("abort", wait, { once: true });
      try {
        // What waits to be sent goes first: a function may block the process at once, or end it, and a job whose start
        // nobody was told of would be given again and again at no cost of an attempt.
        await (options.startTold?.() ?? tickEnd());
        if (options.signal.aborted) return failed(GONE);
        return await runHandler(given, { ...task, job }, options);
      } finally {
        clearTimeout(timer);
        options.signal.removeEventListener("abort", wait);
        if (isStuck) {
          stuckCount -= 1;
          onStuck();
        }
      }
    },
  };
};

/** `told`: the whole answer, put together from the chunks of it; null for an API without streams, and if it is too long. */
type Life = { isOver: boolean; lastEvent: string; told: Assembly | null; unawaited: Set<Handed<unknown>> };

const DONE = writeEvent("[DONE]");
/** APIs whose clients find an event by its name, which is its type. */
const NAMED: readonly (Api | null)[] = ["messages", "responses"];

/** APIs each of whose events has `choices`; those of the others have a `type`. */
const IN_CHOICES: readonly Api[] = ["chat/completions", "completions"];
const EVENT_TYPE = /^(error|ping|keepalive|message_\w+|content_block_\w+|\w+(\.\w+)+)$/;

/** The author of a stream of chunks need not know the mark of its end. */
const lacksEnd = ({ api }: LeasedJob, { lastEvent }: Life): boolean =>
  api !== null && lastEvent !== "" && !saysItsEnd(api, lastEvent) && saysItsEnd(api, DONE);

const eventOf = (api: Api | null, part: string | Record<string, unknown>): string =>
  typeof part !== "string" && typeof part.type === "string" && NAMED.includes(api)
    ? writeEvent(part, part.type)
    : writeEvent(part);

const runHandler = async (given: FunctionOptions, task: JobTask, options: RunOptions): Promise<Outcome> => {
  const facts = factsOf(task, given.models);
  const open = (name: string) => name;
  const answer = new Answer({ task, options, files: given.files, empty: null, model: facts.model, open });
  // What a handler leaves running may still call its context.
  const dialect = task.api === null ? null : DIALECTS[task.api];
  const life: Life = { isOver: false, lastEvent: "", told: dialect?.assemble?.() ?? null, unawaited: new Set() };
  const { signal } = options;
  try {
    const context = contextOf(given, task, options, answer, life);
    const returned = await finished(await given.handler(facts, context), context);
    await Promise.all([...life.unawaited].filter((one) => !one.isHandled));
    if (signal.aborted) return failed(GONE, answer.spent);
    const isChunked = dialect !== null && life.lastEvent !== "";
    // Beside chunks only an object counts: it is what an API's client gets, whatever was emitted before.
    const counts = isChunked ? isObject(returned) : returned !== undefined;
    const result = counts ? written(returned) : undefined;
    // Before its chunks are ended, as if they were the answer.
    if (isChunked && counts && !isAnswerOf(dialect, result)) return failed(answer.none(), answer.spent);
    if (lacksEnd(task.job, life)) {
      life.told?.take("[DONE]");
      await options.emit([DONE]);
    }
    if (answer.failure !== null) return await answer.outcome();
    if (!isChunked || counts) {
      if (counts) answer.take({ key: "result", result });
      return await answer.outcome();
    }
    const whole = life.told?.isWhole() ? life.told.result() : null;
    // The last event of images or of sound is none that a client without a stream could read.
    if (whole !== null && (task.job.stream || isAnswerOf(dialect, whole)))
      return { ok: true, result: whole, ...dialect.spentOf(whole), ...answer.spent };
    return task.job.stream ? { ok: true, result: null, ...answer.spent } : failed(answer.none(), answer.spent);
  } catch (error) {
    if (signal.aborted) return failed(GONE, answer.spent);
    return failed(failureBy(error), answer.spent);
  } finally {
    life.isOver = true;
  }
};

const MIXED = "an answer is emitted as text or as chunks, not as both";

/** Whether a text is an event, as it stands behind `data:`, and no piece of an answer, which may be JSON, too. */
const isChunk = (api: Api, text: string): boolean => {
  if (text === "[DONE]") return true;
  const value = text.startsWith("{") ? objectOf(parseJson(text)) : {};
  if (isObject(value.error)) return true;
  return IN_CHOICES.includes(api) ? "choices" in value : EVENT_TYPE.test(String(value.type));
};

type AnyGenerator = Generator<string> | AsyncGenerator<string>;

const isGenerator = (value: unknown): value is AnyGenerator =>
  typeof value === "object" && value !== null && "next" in value && "return" in value && "throw" in value;

/** The parts of a generator are emitted; what it returns is the result. */
const finished = async (returned: unknown, { emit, signal }: Context): Promise<unknown> => {
  if (!isGenerator(returned)) return returned;
  while (!signal.aborted) {
    const { done, value } = await returned.next();
    if (done) return value;
    await emit(value);
  }
  return returned.return(undefined);
};

/** A promise for a handler to wait for. If it fails and the handler waits for it, the handler decides what follows. */
class Handed<T> extends Promise<T> {
  static override readonly [Symbol.species] = Promise;
  #isTaken = false;
  hasFailed = false;

  get isHandled(): boolean {
    return this.#isTaken && this.hasFailed;
  }

  // biome-ignore lint/suspicious/noThenProperty: a promise that knows whether somebody waits for it
  override then: Promise<T>["then"] = (done, failed) => {
    this.#isTaken = true;
    return super.then(done, failed);
  };
}

/** What a handler does not wait for ends before its job does, and fails the job instead of the process. */
const noted = <T>(doing: Promise<T>, { unawaited }: Life): Promise<T> => {
  const handed = new Handed<T>((resolve) => resolve(doing));
  unawaited.add(handed);
  const fail = () => {
    handed.hasFailed = true;
  };
  Promise.prototype.then.call(handed, () => void unawaited.delete(handed), fail);
  return handed;
};

/** Without this JSON would silently empty a Map, a Set, a promise or an error, and make NaN null. */
const refuseLost = (name: string, value: unknown): unknown => {
  const where = name === "" ? "it" : `"${name}"`;
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${where} is ${value}`);
  if (typeof value !== "object" || value === null || Array.isArray(value) || Object.keys(value).length > 0)
    return value;
  const made = Object.getPrototypeOf(value);
  if (made === Object.prototype || made === null) return value;
  throw new TypeError(`${where} is a ${made.constructor?.name}, of which nothing would be left`);
};

/** @throws Fail with words for what JSON cannot carry. */
const written = (result: unknown): unknown => {
  try {
    if (typeof result === "function" || typeof result === "symbol") throw new TypeError(`it is a ${typeof result}`);
    return parseJson(JSON.stringify(result, refuseLost) ?? "null");
  } catch (error) {
    throw new Fail("bad_output", `The handler's result is no JSON: ${(error as Error).message}`);
  }
};

const contextOf = (given: FunctionOptions, task: JobTask, options: RunOptions, answer: Answer, life: Life): Context => {
  const { job } = task;
  const isDeaf = () => life.isOver || options.signal.aborted;
  const emit: Context["emit"] = async (part) => {
    // A model's last chunk often has none.
    if (isDeaf() || part == null || part === "") return;
    if (typeof part !== "string" && (typeof part !== "object" || Array.isArray(part)))
      throw new TypeError(
        `emit takes text or a chunk, which is an object, not a ${Array.isArray(part) ? "list" : typeof part}`,
      );
    if (typeof part === "string" && (job.api === null || !isChunk(job.api, part.trim()))) {
      if (!answer.isTextual) throw new TypeError(`emit takes a chunk, which is an object, in an answer of ${job.api}`);
      if (life.lastEvent !== "") throw new TypeError(MIXED);
      return answer.take({ key: "text", text: part.toWellFormed() });
    }
    if (answer.hasText) throw new TypeError(MIXED);
    // Who passes on what stood behind `data:` passes on a space, too.
    life.lastEvent = eventOf(job.api, typeof part === "string" ? part.trim() : part);
    if ((life.told?.size() ?? 0) > MAX_LARGE_RESULT_BYTES) life.told = null;
    life.told?.take(dataOf(life.lastEvent));
    await options.emit([life.lastEvent]);
  };
  const file: Context["file"] = async (name, content) => {
    const sent = await given.files.send(job, name, content, options.signal);
    if (!sent.ok) throw new FileNotKept(sent.error);
    return sent.file;
  };
  return {
    signal: options.signal,
    files: job.files.map((file) => ({ ...file, url: new URL(file.url, given.url).href })),
    emit: (part) => noted(emit(part), life),
    progress: (share, message) => {
      if (isDeaf() || !Number.isFinite(share)) return;
      void answer.take({ key: "progress", progress: share, ...(message === undefined ? {} : { message }) });
    },
    // A BigInt, which no report can carry, would end the worker, and an unknown count would lose the job.
    usage: (usage) => {
      const told = COUNTS.flatMap((name) => (usage[name] == null ? [] : [[name, Number(usage[name]) || 0]]));
      if (!life.isOver) answer.spend({ usage: { input_tokens: 0, output_tokens: 0, ...Object.fromEntries(told) } });
    },
    cost: (usd) => void (life.isOver || answer.spend({ cost_usd: Number(usd) })),
    file: (name, content) => noted(file(name, content), life),
    log: (...words) => given.log(`job ${job.id}: ${format(...words)}`),
  };
};
