// A job's files in its chat: images and texts go along, and what a chat cannot have is refused by its name.

import { expect, test } from "vitest";
import type { LeasedJob } from "../../../contract/fleet/worker.ts";
import type { RunOptions } from "../../../worker/calls/runtime.ts";
import { assignedJob } from "../job-fixture.ts";
import { openaiStream } from "../runtimes/fake-runtime.ts";
import { local, openai, run, serve } from "./chat-fixture.ts";

type LeasedFile = LeasedJob["files"][number];

const fileOf = (name: string, content_type: string, bytes = 3): LeasedFile => ({
  id: `file-${name}`,
  name,
  bytes,
  content_type,
  url: `/api/files/file-${name}/content`,
});

/** Each file reads as its own name, in two pieces. */
const openFile: RunOptions["openFile"] = async ({ name }) =>
  (async function* pieces() {
    yield Buffer.from(name.slice(0, 2));
    yield Buffer.from(name.slice(2));
  })();

const chatWith = async (files: LeasedFile[], input: unknown = null, open: RunOptions["openFile"] = openFile) => {
  const server = await serve(openai(["m1"], () => ({ body: openaiStream("m1", ["ok"]) })));
  const job = assignedJob({ id: "j", files });
  const task = { model: "m1", prompt: "Look.", input, job };
  const outcome = await run(local("vllm", server.url), task, open === undefined ? {} : { openFile: open });
  return { outcome, asked: server.asked.filter(({ path }) => path === "/v1/chat/completions") };
};

test("images and texts stand behind the prompt, in their order, and earlier turns stay as they are", async () => {
  const files = [fileOf("a.png", "image/png"), fileOf("b.md", "text/markdown; charset=utf-8")];
  const before = [{ role: "assistant", content: "Hello." }];
  const { outcome, asked } = await chatWith(files, { messages: before });
  expect(outcome.ok).toBe(true);
  const image = `data:image/png;base64,${Buffer.from("a.png").toString("base64")}`;
  const content = [
    { type: "text", text: "Look." },
    { type: "image_url", image_url: { url: image } },
    { type: "text", text: "b.md:\nb.md" },
  ];
  expect(asked[0]?.body.messages).toEqual([...before, { role: "user", content }]);
});

const holding =
  (...bytes: number[]): RunOptions["openFile"] =>
  async () =>
    (async function* pieces() {
      yield Buffer.from(bytes);
    })();

test("texts alone stay a text, which every provider knows", async () => {
  const { asked } = await chatWith([fileOf("a.csv", "text/csv"), fileOf("b.jsonl", "application/x-ndjson")]);
  const content = "Look.\n\na.csv:\na.csv\n\nb.jsonl:\nb.jsonl";
  expect(asked[0]?.body.messages).toEqual([{ role: "user", content }]);
});

test.each([
  ["in capitals", "IMAGE/PNG; q=1", [0, 1, 2], "data:image/png;base64,AAEC"],
  ["untold", "application/octet-stream", [0x89, 0x50, 0x4e, 0x47], "data:image/png;base64,iVBORw=="],
])("a type that is %s is an image all the same", async (_what, type, bytes, url) => {
  const { asked } = await chatWith([fileOf("a.png", type)], null, holding(...bytes));
  const content = [expect.anything(), { type: "image_url", image_url: { url } }];
  expect(asked[0]?.body.messages).toEqual([{ role: "user", content }]);
});

test.each([
  ["of its own charset", "text/plain; charset=utf-16le", [0x68, 0, 0xe9, 0], "hé"],
  ["with a byte order mark", "text/plain", [0xef, 0xbb, 0xbf, 0x68], "h"],
  ["of no told type", "application/octet-stream", [0x68, 0x69], "hi"],
])("a text %s reads as it was written", async (_what, type, bytes, text) => {
  const { asked } = await chatWith([fileOf("a.txt", type)], null, holding(...bytes));
  expect(asked[0]?.body.messages).toEqual([{ role: "user", content: `Look.\n\na.txt:\n${text}` }]);
});

test.each(["text/plain", "application/octet-stream", "text/plain; charset=klingon"])(
  "what does not read as %s is refused by its name",
  async (type) => {
    const { outcome, asked } = await chatWith([fileOf("a.txt", type)], null, holding(0xff, 0xfe, 0x41));
    expect(outcome).toMatchObject({ ok: false, error: { code: "unsupported_input", retryable: false } });
    expect(outcome.ok ? "" : outcome.error.message).toMatch(/^files: a\.txt is neither an image nor text in /);
    expect(asked).toEqual([]);
  },
);

test("a file that does not come is no failure of the runtime, and tried again", async () => {
  const refusal = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  const { outcome } = await chatWith([fileOf("a.png", "image/png")], null, () => Promise.reject(refusal));
  const message = "The job's files: connect ECONNREFUSED";
  expect(outcome).toEqual({ ok: false, error: { code: "input_unavailable", message, retryable: true } });
});

test.each([
  ["another type", [fileOf("a.png", "image/png"), fileOf("b.zip", "application/zip")], /^files: b\.zip is application/],
  ["more than is held", [fileOf("a.png", "image/png", (16 << 20) + 1)], /^files: together they are over the 16 MiB/],
])("%s fails the job by its name, and the runtime is not asked", async (_what, files, message) => {
  const { outcome, asked } = await chatWith(files);
  expect(outcome).toMatchObject({ ok: false, error: { code: "unsupported_input", retryable: false } });
  expect(outcome.ok ? "" : outcome.error.message).toMatch(message);
  expect(asked).toEqual([]);
});
