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

const chatWith = async (files: LeasedFile[], input: unknown = null) => {
  const server = await serve(openai(["m1"], () => ({ body: openaiStream("m1", ["ok"]) })));
  const job = assignedJob({ id: "j", files });
  const outcome = await run(local("vllm", server.url), { model: "m1", prompt: "Look.", input, job }, { openFile });
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

test.each([
  ["another type", [fileOf("a.png", "image/png"), fileOf("b.zip", "application/zip")], /^files: b\.zip is application/],
  ["more than is held", [fileOf("a.png", "image/png", (16 << 20) + 1)], /^files: together they are over the 16 MiB/],
])("%s fails the job by its name, and the runtime is not asked", async (_what, files, message) => {
  const { outcome, asked } = await chatWith(files);
  expect(outcome).toMatchObject({ ok: false, error: { code: "unsupported_input", retryable: false } });
  expect(outcome.ok ? "" : outcome.error.message).toMatch(message);
  expect(asked).toEqual([]);
});
