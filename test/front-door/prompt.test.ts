// What people see of a request: the prompt, and the metadata that it says about itself.

import { describe, expect, it } from "vitest";
import { metadataOf } from "../../src/front-door/request/metadata.ts";
import { type Body, promptOf } from "../../src/front-door/request/prompt.ts";

const REMINDER = "<system-reminder>\nToday is Sunday.\n</system-reminder>";
const text = (said: string) => ({ type: "text", text: said });
const user = (...content: object[]) => ({ role: "user", content });

describe("the prompt of a message in several parts", () => {
  it.each([
    ["is its last text", [user(text("first"), text("last"))], "last"],
    ["is no reminder of its client", [user(text("fix it"), text(REMINDER))], "fix it"],
    ["is no reminder that comes first", [user(text(REMINDER), text("fix it"))], "fix it"],
    ["is a text that only speaks of one", [user(text("what is <system-reminder>?"))], "what is <system-reminder>?"],
    [
      "is that of the message before, where one has none",
      [user(text("fix it")), user({ type: "tool_result" })],
      "fix it",
    ],
    [
      "is that of the message before, where one has reminders alone",
      [user(text("fix it")), user(text(REMINDER))],
      "fix it",
    ],
    ["is empty where nobody said anything", [{ role: "assistant", content: "hello" }], ""],
  ])("%s", (_, messages, prompt) => {
    expect(promptOf("messages", { messages } as unknown as Body)).toBe(prompt);
    expect(promptOf("chat/completions", { messages } as unknown as Body)).toBe(prompt);
    expect(promptOf("responses", { input: messages } as unknown as Body)).toBe(prompt);
  });
});

describe("the metadata of a request", () => {
  it("is the body's, its user, and the header's, which comes first", () => {
    const body = { metadata: { team: "body", run: "7", count: 3 }, user: "u1", safety_identifier: "s1" };
    expect(metadataOf(body, "team=search, env=prod")).toEqual({ team: "search", env: "prod", user: "u1", run: "7" });
    expect(metadataOf({ safety_identifier: "s1" }, undefined)).toEqual({ user: "s1" });
    expect(metadataOf({ user: "", safety_identifier: "s1" }, undefined)).toEqual({ user: "s1" });
    expect(metadataOf({ user: 5, safety_identifier: "" }, undefined)).toEqual({});
    expect(metadataOf({ metadata: ["x"] }, "")).toEqual({});
  });

  it.each([
    ["UTF-8, a byte a character", Buffer.from("team=Küche 模, a=ß").toString("latin1"), { team: "Küche 模", a: "ß" }],
    ["Latin letters", "team=Küche", { team: "Küche" }],
    ["letters, as another platform gives them", "team=Küche 模", { team: "Küche 模" }],
  ])("of a header is read from %s", (_, header, pairs) => {
    expect(metadataOf({}, header)).toEqual(pairs);
  });

  it("of a body is cut to the limits, or left out", () => {
    const pairs = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`n${at}`, "v"]));
    expect(Object.keys(metadataOf({ metadata: pairs }, undefined)).length).toBe(16);
    const long = metadataOf({ metadata: { ["n".repeat(80)]: "v".repeat(300), nul: "a\u0000" } }, undefined);
    expect(long).toEqual({ ["n".repeat(64)]: "v".repeat(256) });
  });

  it.each(["team", "=x", `team=${"x".repeat(257)}`, Array.from({ length: 17 }, (_, at) => `n${at}=v`).join(",")])(
    "of a header that does not fit is refused: %s",
    (header) => {
      expect(() => metadataOf({}, header)).toThrow();
    },
  );
});
