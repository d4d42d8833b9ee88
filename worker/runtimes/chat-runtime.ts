// A model runtime behind a backend: chooses the model, asks, and says what came of it. Ordinary jobs become one streamed
// chat, whatever serves it; jobs of the front door are asked as their client asked.

import type { Api } from "../../contract/values.ts";
import { writeEvent } from "../apis/sse.ts";
import { isObject, objectOf, parseJson } from "../json-object.ts";
import type { Backend } from "./backend.ts";
import { chatBody } from "./chat-body.ts";
import { classifyError, isNeverReached } from "./classify.ts";
import type { ModelList } from "./model-list.ts";
import { isListedAs, isSameModel } from "./model-names.ts";
import type { JobFailure, Outcome, RunOptions, Runtime, Task } from "./runtime.ts";
import { failed } from "./runtime.ts";

const MAX_NAMED_MODELS = 5;

export type ChatRuntimeOptions = {
  backend: Backend;
  /** The runtime's own list, null for hosted providers: there a listed model need not be callable, nor the reverse. */
  models: ModelList | null;
  /**
   * Whether an answer from another model fails the job. Only where the runtime is local: LM Studio serves a wrong name
   * with whatever it has loaded. Not where the runtime ignores the name (llama.cpp, TGI: the list was checked before) nor
   * for hosted providers, whose aliases answer under many names: there the answer's model is reported and priced.
   */
  checksAnswer: boolean;
} & Pick<Runtime, "name" | "address" | "probe" | "probeEveryMs">;

type Choice = { ok: true; model: string } | { ok: false; error: JobFailure };

export function createChatRuntime(options: ChatRuntimeOptions): Runtime {
  const { name, address, probe, probeEveryMs } = options;
  const run = async (task: Task, run: RunOptions): Promise<Outcome> => {
    try {
      return await (task.api === null ? runChat(options, task, run) : runRequest(options, task.api, task, run));
    } catch (error) {
      const failure = failed(classifyError(error, Date.now()));
      return isNeverReached(error) ? { ...failure, neverReached: true } : failure;
    }
  };
  return { name, address, probe, probeEveryMs, run };
}

async function runChat(runtime: ChatRuntimeOptions, task: Task, run: RunOptions): Promise<Outcome> {
  const built = chatBody(task.prompt, task.input);
  if (!built.ok) return failed(built.error);
  const choice = await chooseModel(runtime, task, run);
  if (!choice.ok) return failed(choice.error);
  let chars = 0;
  const emit = (events: readonly string[]) => {
    const text = events.map(textOf).join("");
    if (text === "") return undefined;
    chars += text.length;
    run.onProgress({ output_chars: chars });
    return run.emit([writeEvent({ text })]);
  };
  const answering = { signal: run.signal, traceparent: run.traceparent ?? null, emit };
  const outcome = await runtime.backend.chat({ model: choice.model, ...built.body }, answering);
  const told = outcome.ok ? { ...outcome, result: plainResult(outcome.result) } : outcome;
  return runtime.checksAnswer ? checkAnswer(choice.model, told) : told;
}

/** The text that a chunk of a chat adds to the answer. */
function textOf(event: string): string {
  const chunk = objectOf(parseJson(event.replace(/^data: ?/, "")));
  const [choice] = Array.isArray(chunk.choices) ? chunk.choices : [];
  const { content } = objectOf(objectOf(choice).delta);
  return typeof content === "string" ? content : "";
}

/** An ordinary job's result: what was said, or which tools are to be called, and why it ended. */
function plainResult(completion: unknown): unknown {
  const { choices, model } = objectOf(completion);
  const [choice] = Array.isArray(choices) ? choices : [];
  const { message, finish_reason } = objectOf(choice);
  const { content, tool_calls } = objectOf(message);
  return {
    text: typeof content === "string" ? content : "",
    finish_reason,
    model,
    ...(Array.isArray(tool_calls) ? { tool_calls } : {}),
  };
}

async function runRequest(runtime: ChatRuntimeOptions, api: Api, task: Task, run: RunOptions): Promise<Outcome> {
  if (!isObject(task.input)) {
    return failed({ code: "invalid_request", message: "the body must be an object", status: 400, retryable: false });
  }
  const model = await nameOfModel(runtime, task, run);
  const body = model === null ? task.input : { ...task.input, model };
  return runtime.backend.request({ api, body, headers: task.headers }, run);
}

/** As the runtime's own list writes it. What is not on the list goes as it is: the runtime says what it thinks of it. */
async function nameOfModel(runtime: ChatRuntimeOptions, task: Task, run: RunOptions): Promise<string | null> {
  const listed = runtime.models === null ? null : await runtime.models(run.signal).catch(() => null);
  const asked = task.model ?? run.configuredModel ?? run.offeredModels[0] ?? null;
  if (asked === null || listed === null) return asked;
  return listedName(listed, asked) ?? asked;
}

function listedName(listed: readonly string[], asked: string): string | undefined {
  return listed.find((name) => name === asked) ?? listed.find((name) => isListedAs(name, asked));
}

/** The job's model, else the configured one, else the first offered, else the first that the runtime lists. */
async function chooseModel(runtime: ChatRuntimeOptions, task: Task, run: RunOptions): Promise<Choice> {
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
}

function checkAnswer(asked: string, outcome: Outcome): Outcome {
  if (!outcome.ok || outcome.model === undefined || isSameModel(asked, outcome.model)) return outcome;
  const { usage, model } = outcome;
  const message = `Asked for the model "${asked}", the runtime answered with "${model}": load the one or ask for the other`;
  return failed({ code: "model_mismatch", message, retryable: false }, usage ? { usage, model } : { model });
}
