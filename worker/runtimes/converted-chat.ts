// OpenAI chat on another kind of model, with the AI SDK's providers: their stream becomes chunks of a chat completion,
// which the same reader reads as those of a runtime with that API.

import type { JsonObject } from "../../contract/text/json-object.ts";
import { inputTokensOf } from "../../contract/words/token-estimate.ts";
import { entryOf } from "../../contract/words/values.ts";
import { DIALECTS } from "../apis/dialects.ts";
import { spentSoFar } from "../apis/spent.ts";
import { writeEvent } from "../apis/sse.ts";
import type { Spent } from "../apis/usage.ts";
import type { Answering } from "../calls/backend.ts";
import { unsupportedInput } from "../calls/chat-body.ts";
import { failed, failedBy, type JobFailure, type Outcome } from "../calls/runtime.ts";
import { StreamReader } from "../calls/stream-reader.ts";
import { ChatChunks } from "./chat-chunks.ts";
import { classifyError, requestFailureOf } from "./classify.ts";
import { type ConvertedKind, convertRequest } from "./convert-request.ts";
import { CannotCarry, type ConvertibleModel } from "./convertible.ts";

export type ConvertedModel = {
  name: string;
  kind: ConvertedKind;
  open: (model: string) => Pick<ConvertibleModel, "doStream">;
};

type Explain = { error: (error: unknown) => JobFailure; cannotCarry: (refused: CannotCarry) => JobFailure };

/** An ordinary job. */
export const converted = (model: ConvertedModel, body: JsonObject, run: Answering): Promise<Outcome> => {
  const error = (thrown: unknown) => classifyError(thrown, Date.now());
  const cannotCarry = ({ parameter, message }: CannotCarry) => unsupportedInput(`input.${parameter}: ${message}`);
  return convert(model, body, run, { error, cannotCarry });
};

/** A client's request. */
export const convertedRequest = (model: ConvertedModel, body: JsonObject, run: Answering): Promise<Outcome> => {
  const error = (thrown: unknown) => requestFailureOf(model.name, thrown, Date.now());
  const cannotCarry = ({ message }: CannotCarry) =>
    ({ code: "unsupported_parameter", message, status: 400, retryable: false }) as const;
  return convert(model, body, run, { error, cannotCarry });
};

const convert = async (model: ConvertedModel, body: JsonObject, run: Answering, explain: Explain): Promise<Outcome> => {
  const dialect = DIALECTS["chat/completions"];
  const assembly = dialect.assemble?.();
  if (assembly === undefined) throw new Error("chat has streams");
  const explainEvent = ({ body: told }: { body?: unknown }) => explain.error(told);
  const inputTokens = () => inputTokensOf(body);
  const spent = (): Spent =>
    run.signal.aborted || assembly.size() > 0
      ? spentSoFar(dialect, assembly, inputTokens)
      : dialect.spentOf(assembly.result());
  const reader = new StreamReader({ dialect, inputTokens, explain: explainEvent }, assembly, run.emit);
  const halt = new AbortController();
  try {
    const options = convertRequest(body, model.kind);
    const abortSignal = AbortSignal.any([run.signal, halt.signal]);
    const { stream } = await model.open(String(body.model ?? "")).doStream({ ...options, abortSignal });
    const chunks = new ChatChunks(String(body.model ?? ""));
    for await (const part of stream) {
      if (part.type === "error") return failed(explain.error(part.error), spent());
      if (part.type === "stream-start") refuseDropped(part.warnings);
      const events = chunks.of(part).map((chunk) => ({ raw: writeEvent(chunk), data: JSON.stringify(chunk) }));
      const refused = await reader.take(events);
      if (refused !== null) return refused;
    }
    return await reader.end();
  } catch (error) {
    if (error instanceof CannotCarry) return failed(explain.cannotCarry(error));
    return failedBy(error, explain.error(error), spent());
  } finally {
    halt.abort();
  }
};

/** The SDK's providers report settings that they dropped. */
const refuseDropped = (warnings: readonly { type: string; feature?: string; details?: string | undefined }[]): void => {
  const dropped = warnings.find(({ type }) => type === "unsupported");
  if (dropped === undefined) return;
  const { feature = "a setting", details = "" } = dropped;
  const field = entryOf(OWN_NAMES, feature) ?? feature.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  // What follows its reason is what it did in place of it, which is not done here.
  const [reason = ""] = /^.*?(?= and will be ignored|\.(?:\s|$)|$)/.exec(details.replaceAll(feature, field)) ?? [];
  throw new CannotCarry(field, `"${field}" cannot be carried${reason === "" ? "" : `: ${reason}`}`);
};

/** The fields of a chat that the SDK has other words for. */
const OWN_NAMES: Readonly<Record<string, string>> = { maxOutputTokens: "max_tokens", stopSequences: "stop" };
