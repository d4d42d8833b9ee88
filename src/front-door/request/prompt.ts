// Reads from a request's body, which otherwise passes through unread, the prompt that people see and the conversation's
// name.

import { isObject } from "../../../contract/text/json-object.ts";
import { REMINDER } from "../../../contract/text/reminder.ts";
import { utf8Bytes } from "../../../contract/words/field.ts";
import type { Api } from "../../../domain/words/api.ts";
import type { Json } from "../../../domain/words/json.ts";

const MAX_PROMPT_BYTES = 2048;

export type Body = Readonly<Record<string, Json>>;

interface Turn {
  readonly role: string;
  readonly text: string;
}

/** The text of a message's content, which is a string or a list of parts. */
const textOf = (content: unknown): string => textsOf(content).join("\n");

const textsOf = (content: unknown): string[] => {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  const texts = content.map((part) => (typeof part === "string" ? part : isObject(part) ? part.text : undefined));
  return texts.filter((text) => typeof text === "string");
};

const turnsOf = (messages: Json | undefined): Turn[] => {
  if (typeof messages === "string") return [{ role: "user", text: messages }];
  if (!Array.isArray(messages)) return [];
  return messages.filter(isObject).map(({ role, content }) => ({ role: String(role ?? ""), text: textOf(content) }));
};

/** What the user wrote last: of a message in several parts the last text that is no reminder of its client. */
const lastUserText = (messages: Json | undefined): string => {
  if (typeof messages === "string") return messages;
  if (!Array.isArray(messages)) return "";
  for (const message of messages.toReversed()) {
    if (!isObject(message) || message.role !== "user") continue;
    const text = textsOf(message.content).findLast((one) => one.trim() !== "" && !REMINDER.test(one));
    if (text !== undefined) return text;
  }
  return "";
};

const PROMPT: Readonly<Record<Api, (body: Body) => string>> = {
  "chat/completions": ({ messages }) => lastUserText(messages),
  messages: ({ messages }) => lastUserText(messages),
  "messages/count_tokens": ({ messages }) => lastUserText(messages),
  responses: ({ input }) => lastUserText(input),
  completions: ({ prompt }) => textOf(prompt),
  embeddings: ({ input }) => textOf(input),
  rerank: ({ query }) => textOf(query),
  "images/generations": ({ prompt }) => textOf(prompt),
  "images/edits": ({ prompt }) => textOf(prompt),
  "audio/transcriptions": ({ prompt }) => textOf(prompt),
  "audio/translations": ({ prompt }) => textOf(prompt),
  "audio/speech": ({ input }) => textOf(input),
};

/** The last user text, at most 2 KiB. */
export const promptOf = (api: Api, body: Body): string => {
  const clean = PROMPT[api](body).slice(0, MAX_PROMPT_BYTES).replaceAll("\u0000", "").toWellFormed();
  let text = clean;
  while (utf8Bytes(text) > MAX_PROMPT_BYTES) text = text.slice(0, -Math.ceil((utf8Bytes(text) - MAX_PROMPT_BYTES) / 3));
  return text.toWellFormed();
};

/** The part of a request that stays the same from turn to turn; null if it belongs to no conversation. */
const BEGINNING: Readonly<Partial<Record<Api, (body: Body) => Json>>> = {
  "chat/completions": ({ messages, tools = null }) => beginningOf(messages, null, tools),
  messages: ({ messages, system = null, tools = null }) => beginningOf(messages, system, tools),
  responses: ({ input, instructions = null, tools = null }) => beginningOf(input, instructions, tools),
};

const SYSTEM_ROLES = new Set(["system", "developer"]);

/** Different users may share a system prompt, so the first user message is included. */
const beginningOf = (messages: Json | undefined, system: Json, tools: Json): Json => {
  const turns = turnsOf(messages);
  const first = turns.find(({ role }) => role === "user");
  if (first === undefined) return null;
  return [system, turns.filter(({ role }) => SYSTEM_ROLES.has(role)).map(({ text }) => text), tools, first.text];
};

/** Its digest names the conversation: the name that the client gives, else how the conversation begins; null: neither. */
export const sessionTextOf = (api: Api, model: string, body: Body, named: string | null): string | null => {
  const key = typeof body.prompt_cache_key === "string" ? body.prompt_cache_key : null;
  const name = named ?? key;
  if (name !== null && name !== "") return JSON.stringify(["named", name]);
  const beginning = BEGINNING[api]?.(body) ?? null;
  return beginning === null ? null : JSON.stringify([api, model, beginning]);
};
