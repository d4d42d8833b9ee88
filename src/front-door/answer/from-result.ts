// The events of a complete answer, for a stream whose worker sent none: one chunk with everything, then the API's own
// end.

import { isObject } from "../../../contract/text/json-object.ts";
import { entryOf } from "../../../contract/words/values.ts";
import type { Api } from "../../../domain/words/api.ts";
import type { Json } from "../../../domain/words/json.ts";

type Fields = Record<string, Json>;

const fields = (value: Json | undefined): Fields => (isObject(value) ? value : {});
const list = (value: Json | undefined): Fields[] => (Array.isArray(value) ? value.map((one) => fields(one)) : []);

const data = (value: Json): string => `data: ${JSON.stringify(value)}\n\n`;
const named = (event: Fields): string => `event: ${String(event.type)}\n${data(event)}`;
const DONE = "data: [DONE]\n\n";

const chatEvents = (answer: Fields, wantsUsage: boolean): string => {
  const { choices, usage = null, ...head } = answer;
  const base = { ...head, object: "chat.completion.chunk" };
  const deltas = list(choices).map(({ index = 0, message, finish_reason: reason = null, logprobs = null }) => {
    const { tool_calls: calls, ...said } = fields(message);
    const tools = list(calls).map((call, at) => ({ index: at, ...call }));
    const delta = tools.length === 0 ? said : { ...said, tool_calls: tools };
    return [
      data({ ...base, choices: [{ index, delta, logprobs, finish_reason: null }] }),
      data({ ...base, choices: [{ index, delta: {}, finish_reason: reason }] }),
    ].join("");
  });
  const spent = wantsUsage && usage !== null ? data({ ...base, choices: [], usage }) : "";
  return `${deltas.join("")}${spent}${DONE}`;
};

const completionEvents = (answer: Fields, wantsUsage: boolean): string => {
  const { usage = null, ...base } = answer;
  const spent = wantsUsage && usage !== null ? data({ ...base, choices: [], usage }) : "";
  return `${data(base)}${spent}${DONE}`;
};

const blockEvents = (block: Fields, index: number): string => {
  const start = (empty: Fields): string =>
    named({ type: "content_block_start", index, content_block: { ...block, ...empty } });
  const delta = (given: Fields): string => named({ type: "content_block_delta", index, delta: given });
  const stop = named({ type: "content_block_stop", index });
  if (block.type === "text")
    return `${start({ text: "" })}${delta({ type: "text_delta", text: block.text ?? "" })}${stop}`;
  if (block.type === "tool_use")
    return `${start({ input: {} })}${delta({ type: "input_json_delta", partial_json: JSON.stringify(block.input ?? {}) })}${stop}`;
  if (block.type === "thinking")
    return [
      start({ thinking: "", signature: "" }),
      delta({ type: "thinking_delta", thinking: block.thinking ?? "" }),
      delta({ type: "signature_delta", signature: block.signature ?? "" }),
      stop,
    ].join("");
  return `${start({})}${stop}`;
};

const messageEvents = (answer: Fields): string => {
  const { content, stop_reason = null, stop_sequence = null, stop_details = null, usage = null } = answer;
  const begun = { ...answer, content: [], stop_reason: null, stop_sequence: null, stop_details: null };
  return [
    named({ type: "message_start", message: begun }),
    ...list(content).map(blockEvents),
    named({ type: "message_delta", delta: { stop_reason, stop_sequence, stop_details }, usage }),
    named({ type: "message_stop" }),
  ].join("");
};

/** By the type of an item that is a call: the field that its events bring, and the name of these events. */
const CALLS: Readonly<Record<string, readonly [string, string]>> = {
  function_call: ["arguments", "function_call_arguments"],
  custom_tool_call: ["input", "custom_tool_call_input"],
};

/** An item's lists of parts: their field, the name of a part's events, and the field of these for its place. */
const LISTS = [
  ["summary", "reasoning_summary_part", "summary_index"],
  ["content", "content_part", "content_index"],
] as const;

/** By the type of a part: the field that its events bring, and the name of these events. */
const PARTS: Readonly<Record<string, readonly [string, string]>> = {
  output_text: ["text", "output_text"],
  refusal: ["refusal", "refusal"],
  reasoning_text: ["text", "reasoning_text"],
  summary_text: ["text", "reasoning_summary_text"],
};

/** There is no event for a cancelled response: its last one has that status in it. */
const LAST_EVENTS: Readonly<Record<string, string>> = {
  incomplete: "incomplete",
  failed: "failed",
  cancelled: "failed",
};

const responseEvents = (response: Fields): string => {
  const texts: string[] = [];
  const tell = (type: string, more: Fields): void => {
    texts.push(named({ type: `response.${type}`, sequence_number: texts.length, ...more }));
  };
  /** A text at its place, in one piece. */
  const say = ([field, name]: readonly [string, string], at: Fields, of: Fields): void => {
    const said = of[field] ?? "";
    tell(`${name}.delta`, { ...at, delta: said });
    tell(`${name}.done`, { ...at, [field]: said });
  };
  const begun = { ...response, status: "in_progress", output: [], error: null, incomplete_details: null, usage: null };
  tell("created", { response: begun });
  tell("in_progress", { response: begun });
  for (const [index, item] of list(response.output).entries()) {
    const at = { item_id: item.id ?? null, output_index: index };
    const call = entryOf(CALLS, String(item.type));
    const added: Fields = { ...item, status: "in_progress" };
    for (const [name] of LISTS) if (name in item) added[name] = [];
    if (call !== undefined) added[call[0]] = "";
    tell("output_item.added", { output_index: index, item: added });
    if (call !== undefined) say(call, at, item);
    for (const [name, part, place] of LISTS)
      for (const [n, one] of list(item[name]).entries()) {
        const text = entryOf(PARTS, String(one.type));
        if (text === undefined) continue;
        const there = { ...at, [place]: n };
        tell(`${part}.added`, { ...there, part: { ...one, [text[0]]: "" } });
        say(text, there, one);
        tell(`${part}.done`, { ...there, part: one });
      }
    tell("output_item.done", { output_index: index, item });
  }
  tell(LAST_EVENTS[String(response.status)] ?? "completed", { response });
  return texts.join("");
};

const imageEvents = (type: string, { data: images, ...answer }: Fields): string =>
  list(images)
    .map((image) => named({ ...answer, ...image, type }))
    .join("");

const transcriptEvents = (answer: Fields): string =>
  `${named({ type: "transcript.text.delta", delta: answer.text ?? "" })}${named({ ...answer, type: "transcript.text.done" })}`;

const EVENTS: Readonly<Record<Api, (answer: Fields, wantsUsage: boolean) => string>> = {
  "chat/completions": chatEvents,
  completions: completionEvents,
  embeddings: (answer) => data(answer),
  rerank: (answer) => data(answer),
  "images/generations": (answer) => imageEvents("image_generation.completed", answer),
  "images/edits": (answer) => imageEvents("image_edit.completed", answer),
  "audio/transcriptions": transcriptEvents,
  "audio/translations": transcriptEvents,
  "audio/speech": (answer) => named({ ...answer, type: "speech.audio.done" }),
  messages: messageEvents,
  "messages/count_tokens": (answer) => data(answer),
  responses: responseEvents,
};

export const eventsOfResult = (api: Api, result: Json, wantsUsage: boolean): string =>
  EVENTS[api](fields(result), wantsUsage);
