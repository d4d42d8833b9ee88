// How a call of a hosted provider ends that has no answer, or another program's.

import { expect, test } from "vitest";
import type { VaultOutcome } from "../../src/catalog/vault/connector.ts";
import { providerRuntime } from "../../src/runner/provider-runtime.ts";
import { quietRun, taskOf } from "../worker/runtimes/quiet-run.ts";

const at = { list_url: "https://acme.example/v1/models", method: "GET", response_path: "data[]", fields: { id: "id" } };

const asked = (dialect: "openai" | "anthropic", outcome: VaultOutcome) => {
  const provider = { provider: "acme", ...at, api: { base_url: "https://acme.example/v1", dialect } };
  const { runtime } = providerRuntime(provider as never, { fetch: async () => outcome });
  return runtime.run(taskOf({ model: "m1" }), quietRun());
};

test.each([
  ["network", { code: "runtime_unreachable", retryable: true }],
  ["secret_missing", { code: "provider_refused", retryable: false }],
] as const)("a call without an answer (%s) ends in the connector's words", async (code, error) => {
  const detail = "https://acme.example/v1/chat/completions could not be reached";
  const outcome = await asked("openai", { ok: false, code, detail });
  expect(outcome).toMatchObject({ ok: false, error: { ...error, status: 502, message: detail } });
});

test.each(["openai", "anthropic"] as const)("another program's JSON is no empty answer of %s's dialect", async (of) => {
  const response = Response.json({ status: "ok" });
  const outcome = await asked(of, { ok: true, response, isKeyed: true, holdsKey: () => false });
  expect(outcome).toMatchObject({ ok: false, error: { code: "internal", status: 502, retryable: true } });
});
