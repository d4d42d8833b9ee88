import { afterEach, expect, test } from "vitest";
import { openRuntime } from "../../../worker/runtimes/open-runtime.ts";
import { FakeRuntime } from "./fake-runtime.ts";
import { quietRun, taskOf } from "./quiet-run.ts";

let server: FakeRuntime | null = null;
afterEach(() => server?.stop());

test("a server of llama.cpp that loads its model takes no job, and gives back the one that it was given", async () => {
  let isLoading = true;
  server = await new FakeRuntime(({ path }) => {
    if (path === "/v1/models")
      return { body: { object: "list", models: [], data: [{ id: "m", owned_by: "llamacpp" }] } };
    if (path !== "/v1/chat/completions") return { status: 404, body: "File Not Found" };
    return isLoading
      ? { status: 503, body: { error: { code: 503, message: "Loading model", type: "unavailable_error" } } }
      : { status: 400, body: { error: { message: "'messages' is required" } } };
  }).start();
  const keys = { resolve: async () => null };
  const runtime = openRuntime("llamacpp", { keys, keyRefs: [], runtimeUrl: server.url });
  const loading = `the runtime at ${server.url}/v1 is loading its model`;
  expect((await runtime.probe(null)).unavailable).toBe(loading);
  const chat = taskOf({ model: "m" });
  const request = taskOf({ model: "m", api: "chat/completions", input: { model: "m", messages: [] } });
  for (const task of [chat, request]) {
    expect(await runtime.run(task, quietRun())).toMatchObject({ ok: false, neverReached: true });
  }
  isLoading = false;
  expect(await runtime.probe(null)).toEqual({ unavailable: null, apis: ["chat/completions"], models: ["m"] });
  expect(await runtime.run(chat, quietRun())).not.toHaveProperty("neverReached");
});
