import { describe, expect, test } from "vitest";
import { event } from "../runtimes/fake-runtime.ts";
import { local, openai, run, serve } from "./chat-fixture.ts";

describe("an OpenAI-compatible runtime whose content is in parts, as of Mistral's reasoning models", () => {
  const thinking = (text: string) => ({ type: "thinking", thinking: [{ type: "text", text }] });
  const text = (words: string) => ({ type: "text", text: words });
  const chunk = (content: unknown, finish_reason: string | null = null) =>
    event({ id: "c1", model: "m1", choices: [{ index: 0, delta: { content }, finish_reason }] });

  test("gives the text of its parts, whole", async () => {
    const message = { role: "assistant", content: [thinking("Hm."), text("Hel"), text("lo")] };
    const body = { model: "m1", choices: [{ index: 0, message, finish_reason: "stop" }] };
    const server = await serve(openai(["m1"], () => ({ body })));
    expect(await run(local("vllm", server.url))).toMatchObject({ ok: true, result: { text: "Hello" } });
  });

  test.each([
    ["text goes on after parts", [text("Hel")], "lo"],
    ["parts go on after text", "Hel", [text("lo")]],
  ])("gives their text while it is written: %s", async (_what, first, second) => {
    const body = [chunk([thinking("H")]), chunk([thinking("m.")]), chunk(first), chunk(second, "stop")];
    const server = await serve(openai(["m1"], () => ({ body: [...body, event("[DONE]")] })));
    const emitted: string[] = [];
    const emit = (events: readonly string[]) => void emitted.push(...events);
    const outcome = await run(local("vllm", server.url), {}, { emit });
    expect(outcome).toMatchObject({ ok: true, result: { text: "Hello" } });
    expect(emitted.join("")).toContain('"Hel');
    expect(emitted.join("")).not.toContain("Hm");
  });

  test("is kept as it was for a client of the front door, each part grown to its whole", async () => {
    const body = [
      chunk("Well: "),
      chunk([thinking("H")]),
      chunk([thinking("m.")]),
      chunk([text("Hel")]),
      chunk("lo", "stop"),
    ];
    const server = await serve(openai(["m1"], () => ({ body })));
    const input = { model: "m1", stream: true, messages: [{ role: "user", content: "hi" }] };
    const outcome = await run(local("vllm", server.url), { api: "chat/completions", input });
    const content = [text("Well: "), thinking("Hm."), text("Hello")];
    expect(outcome).toMatchObject({ ok: true, result: { choices: [{ message: { content } }] } });
  });
});

describe("a model that refuses in OpenAI's form", () => {
  const refused = { text: "", refusal: "I cannot help.", finish_reason: "stop" };

  test("is heard of an ordinary job, whole", async () => {
    const message = { role: "assistant", content: null, refusal: "I cannot help." };
    const body = { model: "m1", choices: [{ index: 0, message, finish_reason: "stop" }] };
    const server = await serve(openai(["m1"], () => ({ body })));
    expect(await run(local("vllm", server.url))).toMatchObject({ ok: true, result: refused });
  });

  test("is heard of an ordinary job while it is written", async () => {
    const chunk = (refusal: string | undefined, finish_reason: string | null = null) =>
      event({ model: "m1", choices: [{ index: 0, delta: { content: null, refusal }, finish_reason }] });
    const body = [chunk("I cannot"), chunk(" help."), chunk(undefined, "stop"), event("[DONE]")];
    const server = await serve(openai(["m1"], () => ({ body })));
    const emitted: string[] = [];
    const emit = (events: readonly string[]) => void emitted.push(...events);
    expect(await run(local("vllm", server.url), {}, { emit })).toMatchObject({ ok: true, result: refused });
    expect(emitted.join("")).toContain('{"refusal":"I cannot');
    expect(emitted.join("")).not.toContain('"text"');
  });
});

describe("a runtime's calls of tools, streamed", () => {
  const call = (id: string | undefined, name: string | undefined, text: string) =>
    event({
      model: "m1",
      choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id, function: { name, arguments: text } }] } }],
    });
  const end = [
    event({ model: "m1", choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] }),
    event("[DONE]"),
  ];
  const called = async (...body: string[]) => {
    const server = await serve(openai(["m1"], () => ({ body: [...body, ...end] })));
    const outcome = await run(local("vllm", server.url));
    if (!outcome.ok) throw new Error(outcome.error.message);
    const { tool_calls } = outcome.result as { tool_calls: { id: string; function: object }[] };
    return tool_calls;
  };
  const functions = async (...body: string[]) => (await called(...body)).map(({ function: told }) => told);
  const [weather, time] = [
    { name: "weather", arguments: '{"city":"Bern"}' },
    { name: "time", arguments: "{}" },
  ];

  test("are several although each has the number 0", async () => {
    const parts = [call("a", "weather", '{"city":'), call(undefined, undefined, '"Bern"}'), call("b", "time", "{}")];
    expect(await functions(...parts)).toEqual([weather, time]);
  });

  test("are one although each part has an id of its own", async () => {
    expect(await functions(call("a", "weather", '{"city":'), call("b", undefined, '"Bern"}'))).toEqual([weather]);
  });

  test("keep id and name where later parts have empty ones", async () => {
    const calls = await called(call("a", "weather", '{"city":'), call("", "", '"Bern"}'));
    expect(calls).toEqual([{ id: "a", function: weather }]);
  });
});
