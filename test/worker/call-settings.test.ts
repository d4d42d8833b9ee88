import { expect, test } from "vitest";
import { callSettings } from "../../worker/runtimes/call-settings.ts";

const settingsOf = (input: unknown) => {
  const call = callSettings("Sum it up.", input);
  if (!call.ok) throw new Error(call.message);
  return call.settings;
};
const user = (content: string) => ({ role: "user", content });

test("without input the prompt is the one message", () => {
  expect(settingsOf(null)).toEqual({ messages: [user("Sum it up.")] });
});

test("an input of text or of unknown fields is material, appended to the prompt", () => {
  expect(settingsOf("the text")).toEqual({ messages: [user("Sum it up.\n\nthe text")] });
  expect(settingsOf([1, 2])).toEqual({ messages: [user("Sum it up.\n\n[1,2]")] });
  expect(settingsOf({ report: "x" })).toEqual({ messages: [user('Sum it up.\n\n{"report":"x"}')] });
});

test("known fields are settings, and what stands beside them is material", () => {
  expect(
    settingsOf({ system: "Be brief.", temperature: 0, max_tokens: 9, stop: "END", seed: 1, top_p: 0.5, report: "x" }),
  ).toEqual({
    instructions: "Be brief.",
    temperature: 0,
    maxOutputTokens: 9,
    stopSequences: ["END"],
    seed: 1,
    topP: 0.5,
    messages: [user('Sum it up.\n\n{"report":"x"}')],
  });
});

test("earlier turns come before the prompt", () => {
  const messages = [user("Hi."), { role: "assistant", content: "Hello." }];
  expect(settingsOf({ messages })).toEqual({ messages: [...messages, user("Sum it up.")] });
});

test("a known field with a wrong value is refused by name, not dropped", () => {
  const call = callSettings("Sum it up.", { temperature: "hot" });
  expect(call).toMatchObject({ ok: false, message: expect.stringContaining("temperature") });
  expect(callSettings("x", { messages: [{ role: "owner", content: "" }] }).ok).toBe(false);
});
