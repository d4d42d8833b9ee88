// Converts an OpenAI chat request to a call of another kind of model. Pure. Nothing that could change the answer is
// dropped: an unsupported field is refused by name.

import { isObject, type JsonObject, objectOf } from "../../contract/text/json-object.ts";
import { convertMessages } from "./convert-messages.ts";
import { type CallOptions, CannotCarry } from "./convertible.ts";

export type ConvertedKind = "anthropic" | "gemini";
type Tool = NonNullable<CallOptions["tools"]>[number];

/** Fields about transport, account or billing, which do not change the answer. */
const IMMATERIAL = new Set([
  "model",
  "stream",
  "stream_options",
  "user",
  "metadata",
  "store",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "service_tier",
]);

type Neutral = (value: unknown, kind: ConvertedKind) => boolean;

/** Values that ask for the default behaviour. Gemini's models have other defaults for sampling, each its own. */
const NEUTRAL: ReadonlyMap<string, Neutral> = new Map<string, Neutral>([
  ["temperature", (value, kind) => value === 1 && kind === "anthropic"],
  ["top_p", (value, kind) => value === 1 && kind === "anthropic"],
  ["n", (value) => value === 1],
  ["logprobs", (value) => value === false],
  ["presence_penalty", (value) => value === 0],
  ["frequency_penalty", (value) => value === 0],
  ["parallel_tool_calls", (value) => value === true],
  ["logit_bias", (value) => isObject(value) && Object.keys(value).length === 0],
  ["modalities", (value) => Array.isArray(value) && value.length === 1 && value[0] === "text"],
]);

type Carry = (value: never, kind: ConvertedKind) => Partial<CallOptions>;

const CARRIED: ReadonlyMap<string, Carry> = new Map<string, Carry>([
  ["messages", (value: unknown) => ({ prompt: convertMessages(value) })],
  ["temperature", (temperature: number, kind) => ({ temperature: inRange(temperature, kind) })],
  ["max_tokens", (maxOutputTokens: number) => ({ maxOutputTokens })],
  ["max_completion_tokens", (maxOutputTokens: number) => ({ maxOutputTokens })],
  ["top_p", (topP: number) => ({ topP })],
  ["top_k", (topK: number) => ({ topK })],
  ["stop", (stop: string | string[]) => ({ stopSequences: Array.isArray(stop) ? stop : [stop] })],
  ["seed", (seed: number, kind) => ({ seed: only("gemini", kind, "seed", seed) })],
  ["presence_penalty", (value: number, kind) => ({ presencePenalty: only("gemini", kind, "presence_penalty", value) })],
  [
    "frequency_penalty",
    (value: number, kind) => ({ frequencyPenalty: only("gemini", kind, "frequency_penalty", value) }),
  ],
  ["tools", (tools: unknown) => ({ tools: toolsOf(tools) })],
  ["tool_choice", (choice: unknown) => ({ toolChoice: toolChoiceOf(choice) })],
  ["response_format", (format: unknown, kind) => responseFormatOf(objectOf(format), kind)],
  [
    "parallel_tool_calls",
    (value: boolean, kind) => {
      only("anthropic", kind, "parallel_tool_calls", value);
      return { providerOptions: { anthropic: { disableParallelToolUse: true } } };
    },
  ],
]);

/** @throws CannotCarry */
export const convertRequest = (body: JsonObject, kind: ConvertedKind): CallOptions => {
  let options: Partial<CallOptions> = {};
  for (const [field, value] of Object.entries(body)) {
    if (value === null || value === undefined || IMMATERIAL.has(field) || NEUTRAL.get(field)?.(value, kind)) continue;
    const carry = CARRIED.get(field);
    if (carry === undefined) throw cannot(field, kind);
    options = { ...options, ...carry(value as never, kind) };
  }
  return { prompt: [], ...options };
};

const cannot = (field: string, kind: ConvertedKind): CannotCarry =>
  new CannotCarry(field, `${kind} does not support "${field}"`);

const only = <T>(able: ConvertedKind, kind: ConvertedKind, field: string, value: T): T => {
  if (kind !== able) throw cannot(field, kind);
  return value;
};

const inRange = (temperature: number, kind: ConvertedKind): number => {
  if (kind === "anthropic" && temperature > 1) {
    throw new CannotCarry("temperature", "anthropic takes a temperature from 0 to 1");
  }
  return temperature;
};

const toolsOf = (tools: unknown): Tool[] => {
  if (!Array.isArray(tools)) throw new CannotCarry("tools", "tools must be an array");
  return tools.map((tool) => {
    const { type, function: called } = objectOf(tool);
    const { name, description, parameters, strict } = objectOf(called);
    if (type !== "function" || typeof name !== "string") {
      throw new CannotCarry("tools", `only tools of type "function" with a name are supported`);
    }
    return {
      type: "function",
      name,
      inputSchema: isObject(parameters) ? parameters : { type: "object", properties: {} },
      ...(typeof description === "string" ? { description } : {}),
      ...(typeof strict === "boolean" ? { strict } : {}),
    };
  });
};

const toolChoiceOf = (choice: unknown): NonNullable<CallOptions["toolChoice"]> => {
  if (choice === "auto" || choice === "none" || choice === "required") return { type: choice };
  const { name } = objectOf(objectOf(choice).function);
  if (typeof name !== "string") throw new CannotCarry("tool_choice", "tool_choice has an unknown value");
  return { type: "tool", toolName: name };
};

const responseFormatOf = ({ type, json_schema }: JsonObject, kind: ConvertedKind): Partial<CallOptions> => {
  if (type === "text") return {};
  const { schema, name, description } = objectOf(json_schema);
  if (type === "json_object" && kind === "gemini") return { responseFormat: { type: "json" } };
  if (type !== "json_schema" || !isObject(schema)) {
    throw new CannotCarry("response_format", `${kind} does not support a response_format of type "${type}"`);
  }
  return {
    responseFormat: {
      type: "json",
      schema,
      ...(typeof name === "string" ? { name } : {}),
      ...(typeof description === "string" ? { description } : {}),
    },
  };
};
