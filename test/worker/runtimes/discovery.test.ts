import { expect, test } from "vitest";
import { discoverRuntime, identifyRuntime } from "../../../worker/runtimes/discovery.ts";
import { serve } from "../calls/chat-fixture.ts";
import type { Answer } from "./fake-runtime.ts";

async function serveAt(paths: Record<string, unknown>): Promise<string> {
  const answer = ({ path }: { path: string }): Answer =>
    path in paths ? { body: paths[path] } : { status: 404, body: {} };
  return (await serve(answer)).url;
}

const list = (...rows: object[]) => ({ object: "list", data: rows });

test.each([
  ["ollama", { "/api/version": { version: "0.9.0" }, "/v1/models": { object: "list", data: null } }],
  ["lmstudio", { "/api/v0/models": { data: [{ id: "m", state: "loaded" }] }, "/v1/models": list({ id: "m" }) }],
  ["llamacpp", { "/v1/models": { models: [{ name: "" }], ...list({ id: "m.gguf", owned_by: "llamacpp" }) } }],
  ["vllm", { "/v1/models": list({ id: "m", owned_by: "vllm" }) }],
  ["sglang", { "/v1/models": list({ id: "m", owned_by: "sglang" }) }],
  ["openai-compatible", { "/v1/models": list({ id: "m", owned_by: "me" }) }],
  [null, { "/v1/models": { hello: "world" } }],
  [null, { "/v1/models": "<html>a web page</html>" }],
])("%s is told by what it answers", async (kind, paths) => {
  expect(await identifyRuntime(await serveAt(paths))).toBe(kind);
});

test("the address may be given as the runtime's own page gives it, with /v1", async () => {
  const url = await serveAt({ "/v1/models": list({ id: "m", owned_by: "vllm" }) });
  expect(await identifyRuntime(`${url}/v1/`)).toBe("vllm");
});

test("of several runtimes the first in order serves, whatever listens on the other ports", async () => {
  const page = await serveAt({});
  const vllm = await serveAt({ "/v1/models": list({ id: "m", owned_by: "vllm" }) });
  const unnamed = await serveAt({ "/v1/models": list({ id: "m" }) });
  const candidates = [
    { name: "ollama", origin: page },
    { name: "lmstudio", origin: unnamed },
    { name: "vllm", origin: vllm },
  ];
  expect(await discoverRuntime(candidates)).toEqual({ name: "lmstudio", url: unnamed });
  expect(await discoverRuntime([{ name: "ollama", origin: page }])).toBeNull();
});
