// A model runtime on top of a backend: chooses the model, calls it, and returns the outcome. An ordinary job becomes
// one streamed chat; a job of the front door is sent as its client wrote it.

import { dataOf } from "../../contract/text/event-text.ts";
import { isObject, type JsonObject, objectOf, parseJson } from "../../contract/text/json-object.ts";
import { type Api, readPath } from "../../contract/words/values.ts";
import { writeEvent } from "../apis/sse.ts";
import type { Backend } from "./backend.ts";
import { chatBody } from "./chat-body.ts";
import { withFiles } from "./chat-files.ts";
import { isAnswerOf, isListedAs } from "./model-names.ts";
import {
  failed,
  failedBy,
  type JobFailure,
  type ModelList,
  type Outcome,
  type RunOptions,
  type Runtime,
  type Task,
} from "./runtime.ts";
import { BROKEN_OFF } from "./stream-reader.ts";

const MAX_NAMED_MODELS = 5;

type ChatRuntimeOptions = {
  backend: Backend;
  /** The runtime's own list; null for hosted providers, whose lists do not match what can be called. */
  models: ModelList | null;
  /**
   * Whether an answer from another model fails the job. True for local runtimes, because LM Studio answers for an
   * unknown name with whatever model it has loaded. False if the runtime ignores the name (llama.cpp, TGI: the list was
   * checked before), and for hosted providers, whose aliases answer under many names: there the answer's model is
   * reported and priced.
   */
  checksAnswer: boolean;
  /** The failure for what a call, or the list, throws. */
  classify: (error: unknown) => JobFailure;
} & Pick<Runtime, "name" | "address" | "probe" | "probeEveryMs">;

type Choice = { ok: true; model: string } | { ok: false; error: JobFailure };

export const createChatRuntime = (options: ChatRuntimeOptions): Runtime => {
  const { name, address, probe, probeEveryMs } = options;
  const run = async (task: Task, run: RunOptions): Promise<Outcome> => {
    try {
      return await (task.api === null ? runChat(options, task, run) : runRequest(options, task.api, task, run));
    } catch (error) {
      return failedBy(error, options.classify(error));
    }
  };
  return { name, address, probe, probeEveryMs, run };
};

const runChat = async (runtime: ChatRuntimeOptions, task: Task, run: RunOptions): Promise<Outcome> => {
  const built = chatBody(task.prompt, task.input);
  if (!built.ok) return failed(built.error);
  const choice = await chooseModel(runtime, task, run);
  if (!choice.ok) return failed(choice.error);
  const asked = await withFiles(built.body, task.job?.files ?? [], run);
  if (!asked.ok) return failed(asked.error);
  let chars = 0;
  const emit = (events: readonly string[]) => {
    const deltas = events.map(deltaOf);
    const text = deltas.map(({ content }) => plainText(content)).join("");
    const refusal = deltas.map((delta) => plainText(delta.refusal)).join("");
    if (text === "" && refusal === "") return undefined;
    chars += text.length + refusal.length;
    run.onProgress({ output_chars: chars });
    return run.emit(readersEvents(text, refusal));
  };
  const answering = { signal: run.signal, traceparent: run.traceparent ?? null, emit, isRead: true };
  const outcome = await runtime.backend.chat({ model: choice.model, ...asked.body }, answering);
  if (!outcome.ok) return outcome;
  const { ok: _ok, result: whole, ...spent } = outcome;
  const result = plainResult(whole);
  // Nobody has seen a part of it: it is asked for again.
  if (result.finish_reason === null) return failed(BROKEN_OFF, spent);
  const answer: Outcome = { ok: true, result, ...spent };
  const told = runtime.checksAnswer ? checkAnswer(choice.model, answer) : answer;
  // Of an answer that was no stream, the job's readers have had nothing yet.
  const unsaid = chars === 0 && task.job?.stream === true ? readersEvents(result.text, plainText(result.refusal)) : [];
  if (told.ok && unsaid.length > 0) await run.emit(unsaid);
  return told;
};

const readersEvents = (text: string, refusal: string): string[] => [
  ...(text === "" ? [] : [writeEvent({ text })]),
  ...(refusal === "" ? [] : [writeEvent({ refusal })]),
];

/** What a chat chunk adds to the answer. */
const deltaOf = (event: string): JsonObject => {
  const chunk = objectOf(parseJson(dataOf(event)));
  const [choice] = Array.isArray(chunk.choices) ? chunk.choices : [];
  return objectOf(objectOf(choice).delta);
};

/** Content is text, or parts (Mistral's reasoning models), of which those of type text are the answer. */
const plainText = (content: unknown): string => {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  return content
    .map(objectOf)
    .map(({ type, text }) => (type === "text" && typeof text === "string" ? text : ""))
    .join("");
};

/** An ordinary job's result: the text, the refusal or the tool calls, and why it ended. */
const plainResult = (completion: unknown): JsonObject & { text: string } => {
  const { model } = objectOf(completion);
  const { message, finish_reason } = objectOf(readPath(completion, "choices.0"));
  const { content, refusal, tool_calls } = objectOf(message);
  return {
    text: plainText(content),
    finish_reason,
    model,
    ...(typeof refusal === "string" && refusal !== "" ? { refusal } : {}),
    ...(Array.isArray(tool_calls) ? { tool_calls } : {}),
  };
};

const runRequest = async (runtime: ChatRuntimeOptions, api: Api, task: Task, run: RunOptions): Promise<Outcome> => {
  if (!isObject(task.input)) {
    return failed({ code: "invalid_request", message: "the body must be an object", status: 400, retryable: false });
  }
  const model = await nameOfModel(runtime, task, run);
  const body = model === null ? task.input : { ...task.input, model };
  return runtime.backend.request({ api, body, headers: task.headers, files: task.job?.files ?? [] }, run);
};

/** The name as the runtime's list has it. A name that is not listed is sent unchanged, and the runtime decides. */
const nameOfModel = async (runtime: ChatRuntimeOptions, task: Task, run: RunOptions): Promise<string | null> => {
  const asked = task.model ?? run.configuredModel ?? run.offeredModels[0] ?? null;
  const listed = runtime.models === null ? null : await runtime.models(run.signal, asked).catch(() => null);
  if (asked === null || listed === null) return asked;
  return listedName(listed, asked) ?? asked;
};

const listedName = (listed: readonly string[], asked: string): string | undefined =>
  listed.find((name) => name === asked) ?? listed.find((name) => isListedAs(name, asked));

/** The job's model, else the configured one, else the first offered, else the first that the runtime lists. */
const chooseModel = async (runtime: ChatRuntimeOptions, task: Task, run: RunOptions): Promise<Choice> => {
  const listed = runtime.models === null ? null : await runtime.models(run.signal);
  const asked = task.model ?? run.configuredModel ?? run.offeredModels[0] ?? listed?.[0];
  if (asked === undefined || listed?.length === 0) {
    const hint = listed === null ? "name one in the job, in --models or" : "load one, or name one in the job or";
    const message = `No model loaded: ${hint} in the config as ${runtime.name}.model`;
    return { ok: false, error: { code: "no_model_loaded", message, retryable: false } };
  }
  if (listed === null) return { ok: true, model: asked };
  const model = listedName(listed, asked);
  if (model !== undefined) return { ok: true, model };
  const some = listed.slice(0, MAX_NAMED_MODELS).join(", ") + (listed.length > MAX_NAMED_MODELS ? ", …" : "");
  const message = `Model not found: ${runtime.name} has no "${asked}"; it has ${some}`;
  return { ok: false, error: { code: "model_not_found", message, retryable: false } };
};

const checkAnswer = (asked: string, outcome: Outcome): Outcome => {
  if (!outcome.ok || outcome.model === undefined || isAnswerOf(asked, outcome.model)) return outcome;
  const { usage, model } = outcome;
  const message = `The runtime answered with the model "${model}" instead of "${asked}": load "${asked}", or ask for "${model}"`;
  return failed({ code: "model_mismatch", message, retryable: false }, usage ? { usage, model } : { model });
};
