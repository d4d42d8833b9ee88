// The built-in runtime: answers with the prompt, at no cost, always in the same way. Usage counts whitespace-separated
// words. For tests and first tries it can be controlled: an ordinary job by its `input`, a client's request by its
// `metadata` (whose values may be text).
//
// {"delay_ms": 500}   answer for that long           {"chunks": 4}   in that many pieces; default one word per piece
// {"fail": {"code": "rate_limited", "message": "…", "status": 429, "retryable": true, "retry_after_seconds": 2}}
//
// A job that fails and has `chunks` sends those first.

import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import { dataOf } from "../../contract/text/event-text.ts";
import { isObject, type JsonObject, objectOf, parseJson } from "../../contract/text/json-object.ts";
import { refusalOf } from "../../contract/words/validation.ts";
import type { Api } from "../../contract/words/values.ts";
import { DIALECTS } from "../apis/dialects.ts";
import { writeEvent } from "../apis/sse.ts";
import { lastUserText, TEXT_ANSWERS, textAnswerOf } from "../apis/text-answers.ts";
import { chatBody, INPUT_FIELDS, unknownField, unsupportedInput } from "../calls/chat-body.ts";
import { failed, type JobFailure, type Outcome, type RunOptions, type Runtime, type Task } from "../calls/runtime.ts";
import { echoEmbeddings } from "./echo-embeddings.ts";
import { echoRerank } from "./echo-rerank.ts";

export const ECHO_MODEL = "echo";
const MAX_DELAY_MS = 3_600_000;
const MAX_CHUNKS = 1000;

const wholeNumber = (min: number, max: number) =>
  z.preprocess(
    (given) => (typeof given === "string" && /^\d+$/.test(given) ? Number(given) : given),
    z.int().min(min).max(max),
  );

const steeringSchema = z.object({
  delay_ms: wholeNumber(0, MAX_DELAY_MS).default(0),
  chunks: wholeNumber(1, MAX_CHUNKS).optional(),
  fail: z
    .preprocess(
      (given) => (typeof given === "string" ? (parseJson(given) ?? { code: given }) : given),
      z.object({
        code: z.string().min(1).default("internal"),
        message: z.string().min(1).default("The job asked the echo runtime to fail"),
        status: z.number().int().min(100).max(599).optional(),
        retryable: z.boolean().default(false),
        retry_after_seconds: z.number().min(0).optional(),
      }),
    )
    .optional(),
});

type Steering = z.infer<typeof steeringSchema>;

/** Without events. */
const AT_ONCE: Readonly<Partial<Record<Api, (body: JsonObject, model: string) => JsonObject>>> = {
  embeddings: echoEmbeddings,
  rerank: echoRerank,
};
const ECHO_APIS = [...Object.keys(TEXT_ANSWERS), ...Object.keys(AT_ONCE)] as Api[];

const KNOWN_INPUT = [...INPUT_FIELDS, ...Object.keys(steeringSchema.shape)];

export const createEchoRuntime = (): Runtime => ({
  name: "echo",
  address: null,
  probeEveryMs: Number.POSITIVE_INFINITY,
  probe: async () => ({ unavailable: null, apis: ECHO_APIS, models: [ECHO_MODEL] }),
  run: (task, options) => (task.api === null ? runJob(task, options) : runRequest(task, options)),
});

const runJob = async (task: Task, options: RunOptions): Promise<Outcome> => {
  const input = objectOf(task.input);
  const unknown = unknownField(input, KNOWN_INPUT);
  if (unknown !== null) return failed(unsupportedInput(unknown));
  const steering = readSteering(input, "input", "bad_request");
  if (!steering.ok) return failed(steering.error);
  const settings = Object.fromEntries(Object.entries(input).filter(([field]) => INPUT_FIELDS.includes(field)));
  const built = chatBody(task.prompt, isObject(task.input) ? settings : task.input);
  if (!built.ok) return failed(built.error);
  let chars = 0;
  const said = await say(task.prompt, steering.value, options, async (piece) => {
    chars += piece.length;
    options.onProgress({ output_chars: chars });
    await options.emit([writeEvent({ text: piece })]);
  });
  const input_tokens = countWords(task.prompt);
  if (said !== null) return failed(said, { usage: { input_tokens, output_tokens: 0 } });
  const model = task.model ?? ECHO_MODEL;
  return {
    ok: true,
    result: { text: task.prompt, finish_reason: "stop", model },
    usage: { input_tokens, output_tokens: input_tokens },
    model,
  };
};

const runRequest = async (task: Task, options: RunOptions): Promise<Outcome> => {
  const body = objectOf(task.input);
  const model = task.model ?? (typeof body.model === "string" ? body.model : ECHO_MODEL);
  const steering = readSteering(objectOf(body.metadata), "metadata", "invalid_request");
  if (!steering.ok) return failed({ ...steering.error, status: 400 });
  const api = task.api ?? "chat/completions";
  const text = lastUserText(body);
  const usage = { input_tokens: countWords(text), output_tokens: 0 };
  const answerAtOnce = AT_ONCE[api];
  if (answerAtOnce !== undefined) {
    const said = await say("", steering.value, options, async () => {});
    if (said !== null) return failed(said, { usage });
    return { ok: true, result: answerAtOnce(body, model), usage, model };
  }
  const assembly = DIALECTS[api].assemble?.();
  const answer = textAnswerOf(api, model);
  if (assembly === undefined || answer === null) throw new Error(`${api} has no streams`);
  const counted = { ...usage, output_tokens: usage.input_tokens };
  let kept = answer.before;
  const tell = async (events: string[]) => {
    for (const event of events) assembly.take(dataOf(event));
    kept = [];
    await options.emit(events);
  };
  const said = await say(text, steering.value, options, (piece) => tell([...kept, answer.piece(piece)]));
  if (said !== null) return failed(said, { usage });
  await tell([...kept, ...answer.after(text, counted)]);
  return { ok: true, result: assembly.result(), usage: counted, model };
};

/** Sends the text piece by piece over `delay_ms`. @returns the failure that was asked for. */
const say = async (
  text: string,
  { delay_ms, chunks, fail }: Steering,
  { signal }: RunOptions,
  tell: (piece: string) => Promise<void>,
): Promise<JobFailure | null> => {
  const pieces = fail !== undefined && chunks === undefined ? [] : piecesOf(text, chunks);
  const startedAt = performance.now();
  const pause = async (share: number) => {
    const leftMs = startedAt + delay_ms * share - performance.now();
    if (leftMs > 0) await delay(leftMs, undefined, { signal });
    signal.throwIfAborted();
  };
  for (const [at, piece] of pieces.entries()) {
    await pause((at + 1) / pieces.length);
    await tell(piece);
  }
  await pause(1);
  return fail === undefined ? null : withoutUndefined(fail);
};

const piecesOf = (text: string, chunks: number | undefined): string[] => {
  const words = text.match(/\s*\S+\s*?(?=\s|$)|\s+/g) ?? [];
  if (chunks === undefined && words.length <= MAX_CHUNKS) return words;
  const count = chunks ?? MAX_CHUNKS;
  const ends = Array.from({ length: count }, (_, at) => Math.round((text.length * (at + 1)) / count));
  return ends.map((end, at) => text.slice(ends[at - 1] ?? 0, end));
};

const readSteering = (
  given: JsonObject,
  where: string,
  code: string,
): { ok: true; value: Steering } | { ok: false; error: JobFailure } => {
  const parsed = steeringSchema.safeParse(given);
  if (parsed.success) return { ok: true, value: parsed.data };
  const message = `echo ${where}: ${refusalOf(steeringSchema, parsed.error, given).detail}`;
  return { ok: false, error: { code, message, retryable: false } };
};

const countWords = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length;

const withoutUndefined = (fail: NonNullable<Steering["fail"]>): JobFailure => {
  const { status, retry_after_seconds, ...rest } = fail;
  return {
    ...rest,
    ...(status === undefined ? {} : { status }),
    ...(retry_after_seconds === undefined ? {} : { retry_after_seconds }),
  };
};
