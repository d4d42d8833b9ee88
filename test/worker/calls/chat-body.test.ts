import { expect, test } from "vitest";
import { chatBody } from "../../../worker/calls/chat-body.ts";

const bodyOf = (input: unknown) => {
  const built = chatBody("Sum it up.", input);
  if (!built.ok) throw new Error(built.error.message);
  return built.body;
};
const refusalOf = (input: unknown) => {
  const built = chatBody("Sum it up.", input);
  return built.ok ? null : built.error;
};
const user = (content: string) => ({ role: "user", content });

test("without input the prompt is the one message", () => {
  expect(bodyOf(null)).toEqual({ messages: [user("Sum it up.")] });
});

test("an input of text follows the prompt", () => {
  expect(bodyOf("the text")).toEqual({ messages: [user("Sum it up.\n\nthe text")] });
});

test("what a model call takes goes on under its own name, tools and response_format included", () => {
  const settings = {
    temperature: 0,
    max_tokens: 9,
    stop: "END",
    seed: 1,
    top_p: 0.5,
    top_k: 3,
    tools: [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }],
    tool_choice: "auto",
    response_format: { type: "json_object" },
  };
  const messages = [{ role: "system", content: "Be brief." }, user("Sum it up.")];
  expect(bodyOf({ system: "Be brief.", ...settings })).toEqual({ messages, ...settings });
});

test("earlier turns come before the prompt", () => {
  const messages = [user("Hi."), { role: "assistant", content: "Hello." }];
  expect(bodyOf({ messages })).toEqual({ messages: [...messages, user("Sum it up.")] });
});

test("an unknown field is refused by name, with the nearest known one, and never pasted", () => {
  expect(refusalOf({ temprature: 0.2 })).toEqual({
    code: "unsupported_input",
    message: 'input.temprature is not a model parameter; did you mean "temperature"?',
    retryable: false,
  });
  expect(refusalOf([1, 2])).toMatchObject({ code: "unsupported_input" });
  expect(refusalOf(7)).toMatchObject({ code: "unsupported_input" });
});

test("a known field with a wrong value is refused by name, not dropped", () => {
  expect(refusalOf({ temperature: "hot" })?.message).toMatch(/^input: temperature: [^\n✖]+$/);
  expect(refusalOf({ messages: [{ role: "owner", content: "" }] })?.message).toContain("role");
});
