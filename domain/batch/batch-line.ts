// One line of a batch's file, as its validation reads it: a request, or what is wrong with it.

import { mayUseModel } from "../access/key-limits.ts";
import { MAX_BESIDE, modelsBeside, TOO_MANY_BESIDE } from "../front-door/models-beside.ts";
import { RESPELLED, respelledIn } from "../front-door/respelled.ts";
import { inputItemsOf, referredIdOf } from "../front-door/stored-response.ts";
import { fnv1a } from "../words/fnv.ts";
import { hasFields, type Json, type JsonFields } from "../words/json.ts";

export const MAX_LINES = 100_000;
/** A line becomes a job, whose input has this bound. */
export const MAX_LINE_BYTES = 1024 * 1024;
/** Told of one batch. */
export const MAX_FAULTS = 100;
const MAX_MODEL_CHARS = 128;
const RESPONSES = "/v1/responses";
const HASHED_CHARS = 1024;
/** A line is a request by itself: it follows no other, and nothing remembers it. */
const FOLLOWING = ["conversation", "previous_response_id"] as const;
const CUSTOM_ID = /^[^\p{Cc}]{1,64}$/u;

const FAULT_CODES = [
  "invalid_json_line",
  "invalid_custom_id",
  "duplicate_custom_id",
  "invalid_method",
  "mismatched_url",
  "missing_model",
  "model_not_allowed",
  "stream_not_supported",
  "unsupported_parameter",
  "too_many_models",
  "too_many_lines",
  "line_too_large",
  "empty_file",
] as const;
type FaultCode = (typeof FAULT_CODES)[number];

export interface Fault {
  readonly code: FaultCode;
  readonly message: string;
  readonly param: string | null;
  /** From 1; null for the whole file. */
  readonly line: number | null;
}

export interface BatchLine {
  readonly customId: string;
  readonly model: string;
  /** Of the body's beginning, so that requests that begin alike are given out together. */
  readonly hash: number;
  readonly body: { readonly [field: string]: Json };
}

export interface LineRules {
  /** As `url` must have it. */
  readonly endpoint: string;
  /** Models that the key may use; `*` matches any characters. Null: all. */
  readonly models: readonly string[] | null;
  /** The tenant's names for models. */
  readonly aliases: Readonly<Record<string, string>>;
}

type LineFault = Omit<Fault, "line">;
export const fault = (code: FaultCode, message: string, param: string | null = null): LineFault => ({
  code,
  message,
  param,
});

/** `excess` says what is too much in a JSON text before it is parsed; null if nothing is. */
export const readLine = (
  text: string,
  line: number,
  rules: LineRules,
  excess: (text: string) => string | null,
): BatchLine | Fault => {
  const read = readRequest(text, rules, excess);
  return isFault(read) ? { ...read, line } : read;
};

const readRequest = (
  text: string,
  rules: LineRules,
  excess: (text: string) => string | null,
): BatchLine | LineFault => {
  const tooMuch = excess(text);
  if (tooMuch !== null) return fault("invalid_json_line", `the line ${tooMuch}`);
  const given = parsed(text);
  if (given === null) return fault("invalid_json_line", "the line must be a JSON object");
  const { custom_id: customId, method, url, body } = given;
  if (typeof customId !== "string" || !CUSTOM_ID.test(customId) || !customId.isWellFormed())
    return fault("invalid_custom_id", "custom_id must be text of 1 to 64 characters", "custom_id");
  if (method !== "POST") return fault("invalid_method", 'method must be "POST"', "method");
  if (url !== rules.endpoint)
    return fault("mismatched_url", `url must be the batch's endpoint, "${rules.endpoint}"`, "url");
  if (!hasFields(body)) return fault("invalid_json_line", "body must be a JSON object", "body");
  const model = modelIn(body, rules);
  if (typeof model !== "string") return model;
  // As its job has it: `1e20` becomes 21 digits.
  const written = JSON.stringify(body);
  if (written.length > MAX_LINE_BYTES) return TOO_LARGE;
  return { customId, model, body, hash: fnv1a(written.slice(0, HASHED_CHARS)) >>> 0 };
};

/** The model that a line's body names, if the body may be a line's. */
const modelIn = (body: JsonFields, rules: LineRules): string | LineFault => {
  const { model, stream } = body;
  const respelled = respelledIn(body);
  if (respelled !== undefined)
    return fault("unsupported_parameter", `body.${respelled} ${RESPELLED}`, `body.${respelled}`);
  if (model === undefined) return fault("missing_model", "body.model is missing", "body.model");
  if (typeof model !== "string" || model === "" || model.length > MAX_MODEL_CHARS)
    return fault("missing_model", `body.model must be a name of at most ${MAX_MODEL_CHARS} characters`, "body.model");
  if (stream !== undefined && stream !== null && stream !== false)
    return fault("stream_not_supported", "a batch has no streams: leave out body.stream", "body.stream");
  if (typeof (body.edge ?? true) !== "boolean")
    return fault("unsupported_parameter", "body.edge must be true or false", "body.edge");
  const following = rules.endpoint === RESPONSES ? followingOf(body) : undefined;
  if (following !== undefined)
    return fault(
      "unsupported_parameter",
      "a batch's line follows no other response and refers to none: send the whole input",
      `body.${following}`,
    );
  const beside = modelsBeside(body);
  if (beside.length > MAX_BESIDE)
    return fault("unsupported_parameter", `body.fallbacks ${TOO_MANY_BESIDE}`, "body.fallbacks");
  const refused = [model, ...beside].find((name) => !isAllowed(name, rules));
  if (refused !== undefined)
    return fault("model_not_allowed", `this key does not allow model ${JSON.stringify(refused)}`, "body.model");
  if ((body.models ?? null) !== null)
    return fault(
      "unsupported_parameter",
      "a batch's line names one model: leave out body.models, and name an alias with a list as its model",
      "body.models",
    );
  return model;
};

const followingOf = (body: JsonFields): string | undefined => {
  if (inputItemsOf(body.input).some((item) => referredIdOf(item) !== null)) return "input";
  return FOLLOWING.find((name) => (body[name] ?? null) !== null);
};

export const isFault = <One extends LineFault>(read: BatchLine | One): read is One => "code" in read;

const isAllowed = (model: string, { models, aliases }: LineRules): boolean => {
  const meant = Object.hasOwn(aliases, model) ? [model, aliases[model] ?? model] : [model];
  return models === null || meant.some((name) => mayUseModel(models, name));
};

const parsed = (text: string): JsonFields | null => {
  try {
    const value: unknown = JSON.parse(text);
    return hasFields(value) ? value : null;
  } catch {
    return null;
  }
};

const TOO_LARGE = fault("line_too_large", `a line has at most ${MAX_LINE_BYTES} bytes, with its numbers written out`);

export const lineTooLarge = (line: number): Fault => ({ ...TOO_LARGE, line });

/** A fault of the whole file. */
export const wholeFault = (code: FaultCode, message: string): Fault => ({ ...fault(code, message), line: null });
