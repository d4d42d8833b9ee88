// Runs a job as one streamed chat call through the AI SDK, whoever serves it. One call is one attempt: the SDK retries
// nothing, because the coordinator counts attempts and keeps the providers' limits. What was spent is reported also when
// the call failed halfway.

import { APICallError, type LanguageModel, type LanguageModelUsage, streamText } from "ai";
import { type CallSettings, callSettings } from "./call-settings.ts";
import { classifyError } from "./classify.ts";
import type { ModelList } from "./model-list.ts";
import { isListedAs, isSameModel } from "./model-names.ts";
import type { JobFailure, Outcome, RunOptions, Runtime, Spent, Task, Usage } from "./runtime.ts";
import { failed } from "./runtime.ts";

const MAX_NAMED_MODELS = 5;

export type ChatRuntimeOptions = {
  name: string;
  /** Opens the model with the key as it is now; `secret` is kept out of every message. */
  open: (model: string) => Promise<{ model: LanguageModel; secret: string | null }>;
  /** The runtime's own list, null for hosted providers: there a listed model need not be callable, nor the reverse. */
  models: ModelList | null;
  /**
   * Whether an answer from another model fails the job. Only where the runtime is local: LM Studio serves a wrong name
   * with whatever it has loaded. Not where the runtime ignores the name (llama.cpp, TGI: the list was checked before) nor
   * for hosted providers, whose aliases answer under many names: there the answer's model is reported and priced.
   */
  checksAnswer: boolean;
  nowMs: () => number;
};

type Choice = { ok: true; model: string } | { ok: false; error: JobFailure };

export function createChatRuntime(options: ChatRuntimeOptions): Runtime {
  return { name: options.name, run: (task, run) => runChat(options, task, run) };
}

async function runChat(runtime: ChatRuntimeOptions, task: Task, run: RunOptions): Promise<Outcome> {
  const call = callSettings(task.prompt, task.input);
  if (!call.ok) return failed({ code: "bad_request", message: call.message, retryable: false });
  let secret: string | null = null;
  try {
    const choice = await chooseModel(runtime, task, run);
    if (!choice.ok) return failed(choice.error);
    const opened = await runtime.open(choice.model);
    secret = opened.secret;
    const outcome = await streamChat(opened.model, call.settings, run, runtime.nowMs);
    return withoutSecret(runtime.checksAnswer ? checkAnswer(choice.model, outcome) : outcome, secret);
  } catch (error) {
    return withoutSecret(failed(classifyError(error, runtime.nowMs())), secret);
  }
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
  const model = listed.find((name) => name === asked) ?? listed.find((name) => isListedAs(name, asked));
  if (model !== undefined) return { ok: true, model };
  const some = listed.slice(0, MAX_NAMED_MODELS).join(", ") + (listed.length > MAX_NAMED_MODELS ? ", …" : "");
  const message = `Model not found: ${runtime.name} has no "${asked}"; it has ${some}`;
  return { ok: false, error: { code: "model_not_found", message, retryable: false } };
}

async function streamChat(
  model: LanguageModel,
  settings: CallSettings,
  run: RunOptions,
  nowMs: () => number,
): Promise<Outcome> {
  const { stream } = streamText({
    ...settings,
    model,
    allowSystemInMessages: true,
    maxRetries: 0,
    abortSignal: run.signal,
    // Errors come through the stream; without a handler the SDK would print them, prompt included.
    onError: () => {},
  });
  let text = "";
  let failure: unknown;
  let finish: { reason: string; isSaid: boolean } | null = null;
  let spent: Spent = {};
  for await (const part of stream) {
    if (part.type === "text-delta") {
      text += part.text;
      run.onProgress({ output_chars: text.length });
    } else if (part.type === "error") {
      failure ??= part.error ?? new Error("the stream failed without a reason");
    } else if (part.type === "finish-step") {
      finish = { reason: part.finishReason, isSaid: part.rawFinishReason !== undefined };
      spent = spentOf(part.usage, part.response.modelId);
    }
  }
  if (failure !== undefined) return failed(classifyError(failure, nowMs()), spent);
  if (!finish?.isSaid) return failed(classifyError(brokenOff(), nowMs()), spent);
  return { ok: true, result: { text, finish_reason: finish.reason, model: spent.model }, ...spent };
}

/** A stream that ended without saying why was cut: a half answer must not pass for a whole one. */
function brokenOff(): APICallError {
  return new APICallError({ message: "the answer broke off before its end", url: "", requestBodyValues: null });
}

function checkAnswer(asked: string, outcome: Outcome): Outcome {
  if (!outcome.ok || outcome.model === undefined || isSameModel(asked, outcome.model)) return outcome;
  const { usage, model } = outcome;
  const message = `Asked for the model "${asked}", the runtime answered with "${model}": load the one or ask for the other`;
  return failed({ code: "model_mismatch", message, retryable: false }, usage ? { usage, model } : { model });
}

function spentOf(usage: LanguageModelUsage, model: string): Spent {
  const reported = usageOf(usage);
  const cost = usage.raw?.cost;
  return {
    ...(reported === null ? {} : { usage: reported }),
    // OpenRouter says what it billed.
    ...(typeof cost === "number" && Number.isFinite(cost) && cost >= 0 ? { cost_usd: cost } : {}),
    ...(model === "" ? {} : { model }),
  };
}

function usageOf(usage: LanguageModelUsage): Usage | null {
  if (usage.inputTokens === undefined && usage.outputTokens === undefined) return null;
  const input_tokens = count(usage.inputTokens);
  const output_tokens = count(usage.outputTokens);
  // The parts can never be more than the whole, whatever a runtime claims.
  const cached = Math.min(count(usage.inputTokenDetails.cacheReadTokens), input_tokens);
  const reasoning = Math.min(count(usage.outputTokenDetails.reasoningTokens), output_tokens);
  return {
    input_tokens,
    output_tokens,
    ...(cached > 0 ? { cached_input_tokens: cached } : {}),
    ...(reasoning > 0 ? { reasoning_tokens: reasoning } : {}),
  };
}

function count(tokens: number | undefined): number {
  return tokens !== undefined && Number.isFinite(tokens) && tokens > 0 ? Math.round(tokens) : 0;
}

/** Providers quote the key, whole or in part, when they refuse it. */
function withoutSecret(outcome: Outcome, secret: string | null): Outcome {
  if (outcome.ok) return outcome;
  const whole = secret ? outcome.error.message.replaceAll(secret, "[key]") : outcome.error.message;
  return {
    ...outcome,
    error: { ...outcome.error, message: whole.replace(/\b(sk|gsk|xai|csk|hf|nvapi)[-_][\w*-]{4,}/g, "[key]") },
  };
}
