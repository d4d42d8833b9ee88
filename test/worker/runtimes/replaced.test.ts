// Another program takes the port of the runtime that a worker found.

import { afterEach, expect, test } from "vitest";
import { openRuntime } from "../../../worker/runtimes/open-runtime.ts";
import { FakeRuntime } from "./fake-runtime.ts";
import { quietRun, taskOf } from "./quiet-run.ts";

let server: FakeRuntime | null = null;
afterEach(() => server?.stop());

const keys = { resolve: async () => null };
const ollamaAt = (url: string) => openRuntime("ollama", { keys, keyRefs: [], runtimeUrl: url });

test("a runtime of another kind is asked for its models as its kind lists them", async () => {
  const choices = [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }];
  server = await new FakeRuntime(({ path, body }) => {
    if (path === "/v1/models") return { body: { object: "list", data: [{ id: "m1", owned_by: "vllm" }] } };
    if (path !== "/v1/chat/completions") return { status: 404, body: { detail: "Not Found" } };
    return body.messages === undefined
      ? { status: 400 }
      : { body: { object: "chat.completion", model: "m1", choices } };
  }).start();
  const runtime = ollamaAt(server.url);
  expect(await runtime.probe(null)).toEqual({ unavailable: null, apis: ["chat/completions"], models: ["m1"] });
  expect(await runtime.run(taskOf({}), quietRun())).toMatchObject({ ok: true, model: "m1" });
});

test("a program that is no model runtime takes no jobs", async () => {
  server = await new FakeRuntime(({ method }) => ({
    status: method === "POST" ? 405 : 404,
    body: "Not Found",
  })).start();
  const reason = `the runtime at ${server.url}/v1 is no model runtime: it lists no models and has no API`;
  expect((await ollamaAt(server.url).probe(null)).unavailable).toBe(reason);
});
