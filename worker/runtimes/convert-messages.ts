// Converts the turns of an OpenAI chat to the prompt of another kind of model. Pure.

import { isObject, type JsonObject, objectOf, parseJson } from "../../contract/text/json-object.ts";
import { inlineImage } from "../calls/inline-image.ts";
import { type CallOptions, CannotCarry } from "./convertible.ts";

type Message = CallOptions["prompt"][number];
type UserPart = Extract<Message, { role: "user" }>["content"][number];
type AssistantPart = Extract<Message, { role: "assistant" }>["content"][number];

/** @throws CannotCarry */
export const convertMessages = (messages: unknown): CallOptions["prompt"] => {
  if (!Array.isArray(messages)) throw new CannotCarry("messages", "messages must be an array");
  // A tool's answer refers to the call, and the call to the tool.
  const toolNames = new Map<string, string>();
  return messages.map((message, index): Message => {
    const turn = objectOf(message);
    switch (turn.role) {
      case "system":
      case "developer":
        return { role: "system", content: textOf(turn.content, index) };
      case "user":
        return { role: "user", content: partsOf(turn.content, index).map((part) => userPart(part, index)) };
      case "assistant":
        return { role: "assistant", content: assistantParts(turn, index, toolNames) };
      case "tool":
        return toolAnswer(turn, index, toolNames);
      default:
        throw cannot(index, `has the role "${String(turn.role)}", which is not supported`);
    }
  });
};

const cannot = (index: number, why: string): CannotCarry => new CannotCarry("messages", `messages[${index}] ${why}`);

const partsOf = (content: unknown, index: number): JsonObject[] => {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) throw cannot(index, "has content that is neither text nor a list of parts");
  return content.map(objectOf);
};

const textOf = (content: unknown, index: number): string =>
  partsOf(content, index)
    .map(({ type, text }) => {
      if (type !== "text" || typeof text !== "string")
        throw cannot(index, `has a part of type "${String(type)}", but only text is supported here`);
      return text;
    })
    .join("");

const userPart = ({ type, text, image_url }: JsonObject, index: number): UserPart => {
  if (type === "text" && typeof text === "string") return { type: "text", text };
  const { url } = isObject(image_url) ? image_url : { url: image_url };
  if (type !== "image_url" || typeof url !== "string") {
    throw cannot(index, `has a part of type "${String(type)}", which is not supported`);
  }
  const inline = inlineImage(url);
  if (inline !== null) return { type: "file", mediaType: inline.type, data: { type: "data", data: inline.data } };
  if (!URL.canParse(url)) throw cannot(index, "has an image with an invalid address");
  return { type: "file", mediaType: "image/*", data: { type: "url", url: new URL(url) } };
};

const assistantParts = (turn: JsonObject, index: number, toolNames: Map<string, string>): AssistantPart[] => {
  const text = turn.content === null || turn.content === undefined ? "" : textOf(turn.content, index);
  const calls = Array.isArray(turn.tool_calls) ? turn.tool_calls.map(objectOf) : [];
  const said: AssistantPart[] = text === "" ? [] : [{ type: "text", text }];
  return [
    ...said,
    ...calls.map(({ id, function: called }): AssistantPart => {
      const { name, arguments: given } = objectOf(called);
      if (typeof id !== "string" || typeof name !== "string") throw cannot(index, "has a tool call without id or name");
      toolNames.set(id, name);
      return { type: "tool-call", toolCallId: id, toolName: name, input: parseJson(String(given || "{}")) ?? {} };
    }),
  ];
};

const toolAnswer = (turn: JsonObject, index: number, toolNames: Map<string, string>): Message => {
  const { tool_call_id: id, content } = turn;
  const toolName = typeof id === "string" ? toolNames.get(id) : undefined;
  if (typeof id !== "string" || toolName === undefined) throw cannot(index, "answers a tool call that does not exist");
  const output = { type: "text" as const, value: textOf(content, index) };
  return { role: "tool", content: [{ type: "tool-result", toolCallId: id, toolName, output }] };
};
