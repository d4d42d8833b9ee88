// Fake servers of a test, and the runtimes that call them.

import { onTestFinished } from "vitest";
import type { RunOptions, Runtime, Task } from "../../../worker/calls/runtime.ts";
import { openHosted, openRuntime } from "../../../worker/runtimes/open-runtime.ts";
import { environmentKeys } from "../../../worker/runtimes/provider-keys.ts";
import type { ApiKind } from "../../../worker/runtimes/providers.ts";
import { type Answer, FakeRuntime, type RuntimeRequest } from "../runtimes/fake-runtime.ts";
import { quietRun, taskOf } from "../runtimes/quiet-run.ts";

export const KEY = "sk-secret-key-of-the-test";
export const USAGE = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };

/** A server that is stopped with its test. */
export async function serve(answer: (asked: RuntimeRequest) => Answer): Promise<FakeRuntime> {
  const server = await new FakeRuntime(answer).start();
  onTestFinished(() => server.stop());
  return server;
}

export function local(name: string, url: string): Runtime {
  return openRuntime(name, { keys: environmentKeys({}), keyRefs: [`provider:${name}`], runtimeUrl: url });
}

export function hosted(name: string, api: ApiKind, baseUrl: string, renames?: Record<string, string>): Runtime {
  const keys = environmentKeys({ PROVIDER_TESTED_KEY: KEY });
  const provider = renames ? { baseUrl, api, renames } : { baseUrl, api };
  return openHosted(name, provider, { keys, keyRefs: ["provider:other", "provider:tested"], runtimeUrl: null });
}

export function run(runtime: Runtime, task: Partial<Task> = {}, options: Partial<RunOptions> = {}) {
  return runtime.run(taskOf(task), quietRun(options));
}

/** A local server with these models that answers like OpenAI, or as told. */
export function openai(models: string[], chat: (asked: RuntimeRequest) => Answer) {
  return (asked: RuntimeRequest): Answer => {
    if (asked.path === "/api/tags") return { body: { models: models.map((name) => ({ name })) } };
    if (asked.path === "/v1/models") return { body: { object: "list", data: models.map((id) => ({ id })) } };
    return chat(asked);
  };
}
