import { describe, expect, test } from "vitest";
import type { RunOptions } from "../../../worker/calls/runtime.ts";
import { openaiStream } from "../runtimes/fake-runtime.ts";
import { hosted, local, openai, run, serve, USAGE } from "./chat-fixture.ts";

describe("the model of a job on a local runtime", () => {
  const answering = (models: string[]) =>
    openai(models, ({ body }) => ({ body: openaiStream(body.model, ["ok"], USAGE) }));

  test("is the job's own, else the configured one, else the first offered, else the first listed", async () => {
    const server = await serve(answering(["first:latest", "offered", "configured", "asked"]));
    const runtime = local("ollama", server.url);
    const offeredModels = ["offered"];
    const modelOf = async (model: string | null, options: Partial<RunOptions>) =>
      (await run(runtime, { model }, options)).model;
    expect(await modelOf("asked", { configuredModel: "configured", offeredModels })).toBe("asked");
    expect(await modelOf(null, { configuredModel: "configured", offeredModels })).toBe("configured");
    expect(await modelOf(null, { offeredModels })).toBe("offered");
    expect(await modelOf(null, {})).toBe("first:latest");
    expect(await modelOf("first", {})).toBe("first:latest");
  });

  test("that the runtime does not have fails the job, without asking it", async () => {
    const server = await serve(answering(["llama3.2:latest"]));
    const outcome = await run(local("ollama", server.url), { model: "qwen3" });
    expect(outcome).toMatchObject({ ok: false, error: { code: "model_not_found", retryable: false } });
    expect(outcome.ok || outcome.error.message).toBe('Model not found: ollama has no "qwen3"; it has llama3.2:latest');
    expect(server.asked.map(({ path }) => path)).toEqual(["/api/tags"]);
  });

  test("on a runtime with none is told as such", async () => {
    const server = await serve((asked) =>
      asked.path === "/v1/models" ? { body: { object: "list", data: null } } : {},
    );
    const outcome = await run(local("lmstudio", server.url));
    expect(outcome).toMatchObject({ ok: false, error: { code: "no_model_loaded" } });
    expect(outcome.ok || outcome.error.message).toMatch(/^No model loaded/);
  });

  test("is looked up once for a burst of jobs", async () => {
    const server = await serve(answering(["m"]));
    const runtime = local("vllm", server.url);
    await Promise.all([run(runtime), run(runtime), run(runtime)]);
    expect(server.asked.filter(({ path }) => path === "/v1/models").length).toBe(1);
  });

  test("that another one silently stood in for fails the job, and what it spent is reported", async () => {
    const chat = () => ({ body: openaiStream("llama-3.2-1b", ["ok"], USAGE) });
    const server = await serve(openai(["qwen3-4b", "llama-3.2-1b"], chat));
    const outcome = await run(local("lmstudio", server.url), { model: "qwen3-4b" });
    expect(outcome).toMatchObject({ ok: false, error: { code: "model_mismatch" }, usage: { input_tokens: 7 } });
  });

  test("is not proven by the answer of llama.cpp, which serves its one model under any name", async () => {
    const chat = () => ({ body: openaiStream("gpt-3.5-turbo", ["ok"], USAGE) });
    const server = await serve(openai(["/models/qwen3-4b.gguf"], chat));
    expect((await run(local("llamacpp", server.url), { model: "qwen3-4b" })).ok).toBe(true);
    expect(await run(local("llamacpp", server.url), { model: "llama3.2" })).toMatchObject({
      error: { code: "model_not_found" },
    });
  });

  test("cannot be chosen where a web page answers: the worker offers nothing until its runtime is back", async () => {
    let isPage = true;
    const page = { headers: { "content-type": "text/html; charset=utf-8" }, body: "<html>Sign in</html>" };
    const usual = answering(["m"]);
    const server = await serve((asked) => (isPage ? page : usual(asked)));
    const runtime = local("ollama", server.url);
    const says = "it answers with a web page, not with its models";
    expect((await runtime.probe(null)).unavailable).toBe(
      `the runtime at ${server.url}/v1 is no model runtime: ${says}`,
    );
    expect(await run(runtime)).toMatchObject({ error: { message: expect.stringContaining(says), retryable: true } });
    isPage = false;
    expect((await runtime.probe(null)).unavailable).toBeNull();
  });

  test("a runtime that is not there is unreachable, and tried again with the next job", async () => {
    const server = await serve(answering(["m"]));
    const runtime = local("ollama", server.url);
    await server.stop();
    expect(await run(runtime)).toMatchObject({ ok: false, error: { code: "runtime_unreachable", retryable: true } });
  });
});

describe("a hosted provider without a model in job, config and flags", () => {
  test("fails the job and says where to name one", async () => {
    const outcome = await run(hosted("groq", "openai", "http://127.0.0.1:9/v1"));
    expect(outcome.ok || outcome.error).toMatchObject({
      code: "no_model_loaded",
      message: expect.stringMatching(/^No model loaded: .*--models/),
    });
  });
});
