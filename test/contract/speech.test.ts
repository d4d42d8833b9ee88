// Sound that passes as events.

import { expect, test } from "vitest";
import { MAX_SPEECH_BYTES, SPEECH_DONE, soundOf, speechDelta } from "../../contract/front-door/speech.ts";

const eventsOf = (...events: string[]) => new Blob(events).stream();

const heard = async (...events: string[]): Promise<(string | null)[]> => {
  const pieces: (string | null)[] = [];
  for await (const { bytes, contentType } of soundOf(eventsOf(...events)))
    pieces.push(contentType, new TextDecoder("latin1").decode(bytes));
  return pieces;
};

const said = (text: string, type: string | null = null) => speechDelta(Buffer.from(text, "latin1"), type);

test("comes back as the bytes that it was, with the type that the first event names", async () => {
  const bytes = Buffer.alloc(MAX_SPEECH_BYTES, "\u0000\u0080\u00ff\r\n", "latin1");
  for await (const { bytes: back } of soundOf(eventsOf(speechDelta(bytes, null), SPEECH_DONE)))
    expect(bytes.equals(back)).toBe(true);
  expect(await heard(said("a", "audio/mpeg"), ": a comment\n\n", said("b"), SPEECH_DONE)).toEqual([
    "audio/mpeg",
    "a",
    null,
    "b",
  ]);
});

test.each(["", "audio/wav\r\nx-a: 1", "audio/\u4e2d"])(
  "has no type where the worker names %j, which is none",
  async (type) => {
    expect(await heard(said("a", type), SPEECH_DONE)).toEqual([null, "a"]);
  },
);

test.each([SPEECH_DONE, 'data: {"type":"speech.audio.done","usage":{"input_tokens":1}}\n\n', "data: [DONE]\n\n"])(
  "ends with %j",
  async (end) => expect(await heard(said("a"), end)).toEqual([null, "a"]),
);

test.each([
  ["without an end", []],
  ["with an error", ['data: {"error":{"message":"lost"}}\n\n', SPEECH_DONE]],
  ["with something else", ['data: {"type":"speech.audio.delta"}\n\n', SPEECH_DONE]],
  ["in the middle of an event", ['data: {"type":"speech.audio.done"}\n']],
])("is a part, and says so, %s", async (_, rest) => {
  await expect(heard(said("a"), ...rest)).rejects.toThrow("the sound broke off");
});
