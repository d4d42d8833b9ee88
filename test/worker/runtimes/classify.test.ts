import { APICallError } from "ai";
import { describe, expect, test } from "vitest";
import { classifyFailure } from "../../../worker/calls/failure.ts";
import { classifyError } from "../../../worker/runtimes/classify.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const json = (body: unknown) => JSON.stringify(body);

/** [source, status, body, code, retryable] with the providers' real texts. */
const TABLE: [string, number | undefined, unknown, string, boolean][] = [
  [
    "openai: unknown model",
    404,
    json({
      error: {
        message: "The model `gpt-x` does not exist or you do not have access to it.",
        type: "invalid_request_error",
        code: "model_not_found",
      },
    }),
    "model_not_found",
    false,
  ],
  [
    "anthropic: unknown model",
    404,
    json({ type: "error", error: { type: "not_found_error", message: "model: claude-x" } }),
    "model_not_found",
    false,
  ],
  [
    "gemini: unknown model",
    404,
    json({ error: { code: 404, message: "models/x is not found for API version v1beta", status: "NOT_FOUND" } }),
    "model_not_found",
    false,
  ],
  [
    "groq: model that has ended",
    400,
    json({
      error: {
        message: "The model `llama3-70b-8192` has been decommissioned and is no longer supported.",
        type: "invalid_request_error",
        code: "model_decommissioned",
      },
    }),
    "model_not_found",
    false,
  ],
  [
    "groq: model that the account must not use",
    403,
    json({
      error: {
        message: "The model `llama-3.3-70b-versatile` is blocked at the organization level.",
        type: "permissions_error",
        code: "model_permission_blocked_org",
      },
    }),
    "model_not_found",
    false,
  ],
  ["ollama: string error", 404, json({ error: "model 'x' not found" }), "model_not_found", false],
  ["ollama 0.5", 404, json({ error: 'model "x" not found, try pulling it first' }), "model_not_found", false],
  [
    "ollama /v1",
    404,
    json({ error: { message: "model 'x' not found", type: "not_found_error", param: null, code: null } }),
    "model_not_found",
    false,
  ],
  [
    "lmstudio: wrong id",
    400,
    json({ error: { message: 'Invalid model identifier "x"', code: "model_not_found" } }),
    "model_not_found",
    false,
  ],
  [
    "lmstudio 0.3",
    404,
    json({ error: 'Model "x" not found. Please specify a valid model.' }),
    "model_not_found",
    false,
  ],
  [
    "vllm",
    404,
    json({ error: { message: "The model `x` does not exist.", type: "NotFoundError", code: 404 } }),
    "model_not_found",
    false,
  ],
  [
    "vllm, flat",
    404,
    json({ object: "error", message: "The model `x` does not exist.", type: "NotFoundError", code: 404 }),
    "model_not_found",
    false,
  ],
  [
    "llama.cpp router",
    400,
    json({ error: { code: 400, message: "model 'x' not found", type: "invalid_request_error" } }),
    "model_not_found",
    false,
  ],
  [
    "llama.cpp router, unloaded",
    400,
    json({ error: { code: 400, message: "model is not loaded" } }),
    "no_model_loaded",
    false,
  ],
  [
    "lmstudio: nothing loaded",
    400,
    json({
      error: {
        message: "No models loaded. Please load a model in the developer page or use the 'lms load' command.",
        type: "invalid_request_error",
        param: "model",
        code: null,
      },
    }),
    "no_model_loaded",
    false,
  ],
  [
    "lmstudio: nothing loaded, string",
    400,
    json({ error: "No models loaded. Please load a model in the developer page or use the 'lms load' command." }),
    "no_model_loaded",
    false,
  ],
  [
    "openai: rate",
    429,
    json({ error: { message: "Rate limit reached for gpt-5", type: "tokens", code: "rate_limit_exceeded" } }),
    "rate_limited",
    true,
  ],
  [
    "openai: no money",
    429,
    json({
      error: {
        message: "You exceeded your current quota, please check your plan and billing details.",
        type: "insufficient_quota",
        code: "insufficient_quota",
      },
    }),
    "quota_exhausted",
    false,
  ],
  [
    "gemini: rate, in the words of no money",
    429,
    json({
      error: {
        code: 429,
        message: "You exceeded your current quota, please check your plan and billing details.",
        status: "RESOURCE_EXHAUSTED",
      },
    }),
    "rate_limited",
    true,
  ],
  [
    "gemini over openai: array",
    429,
    json([{ error: { code: 429, message: "Resource exhausted", status: "RESOURCE_EXHAUSTED" } }]),
    "rate_limited",
    true,
  ],
  [
    "anthropic: rate",
    429,
    json({ type: "error", error: { type: "rate_limit_error", message: "slow down" } }),
    "rate_limited",
    true,
  ],
  [
    "anthropic: overloaded",
    529,
    json({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
    "overloaded",
    true,
  ],
  [
    "anthropic: overloaded, in a stream",
    undefined,
    { type: "overloaded_error", message: "Overloaded" },
    "overloaded",
    true,
  ],
  [
    "anthropic: no money",
    400,
    json({
      type: "error",
      error: { type: "invalid_request_error", message: "Your credit balance is too low to access the Anthropic API." },
    }),
    "quota_exhausted",
    false,
  ],
  [
    "anthropic: max_tokens too high",
    400,
    json({
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens",
      },
    }),
    "bad_request",
    false,
  ],
  [
    "moonshot: no money",
    429,
    json({ error: { message: "Your account is not active", type: "exceeded_current_quota_error" } }),
    "quota_exhausted",
    false,
  ],
  ["deepseek: no money, plain text", 402, "Insufficient Balance", "quota_exhausted", false],
  [
    "gemini: overloaded",
    503,
    json({ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }),
    "overloaded",
    true,
  ],
  [
    "ollama: queue full",
    503,
    json({ error: "server busy, please try again.  maximum pending requests exceeded" }),
    "overloaded",
    true,
  ],
  [
    "llama.cpp: loading",
    503,
    json({ error: { code: 503, message: "Loading model", type: "unavailable_error" } }),
    "overloaded",
    true,
  ],
  ["tgi: overloaded as 429", 429, json({ error: "Model is overloaded", error_type: "overloaded" }), "overloaded", true],
  [
    "gemini: bad key is 400",
    400,
    json({
      error: {
        code: 400,
        message: "API key not valid. Please pass a valid API key.",
        status: "INVALID_ARGUMENT",
        details: [{ reason: "API_KEY_INVALID" }],
      },
    }),
    "unauthorized",
    false,
  ],
  [
    "xai: bad key is 400",
    400,
    json({ code: "Client specified an invalid argument", error: "Incorrect API key provided" }),
    "unauthorized",
    false,
  ],
  ["mistral: bad key", 401, json({ detail: "Unauthorized" }), "unauthorized", false],
  [
    "openai: no access",
    403,
    json({ error: { message: "Country not supported", code: "unsupported_country" } }),
    "unauthorized",
    false,
  ],
  [
    "xai: content refused",
    403,
    json({
      code: "permission-denied",
      error: "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO",
    }),
    "bad_request",
    false,
  ],
  [
    "openrouter: content refused",
    403,
    json({ error: { code: 403, message: "Your chosen model requires moderation and your input was flagged" } }),
    "bad_request",
    false,
  ],
  [
    "openrouter: guardrail",
    403,
    json({ error: { code: 403, message: "Request blocked: prompt injection patterns detected" } }),
    "bad_request",
    false,
  ],
  [
    "xai: too long",
    400,
    json({
      code: "Client specified an invalid argument",
      error: "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
    }),
    "context_length",
    false,
  ],
  [
    "anthropic: too long with its answer",
    400,
    json({
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000",
      },
    }),
    "context_length",
    false,
  ],
  [
    "openai: too long",
    400,
    json({
      error: { message: "This model's maximum context length is 8192 tokens.", code: "context_length_exceeded" },
    }),
    "context_length",
    false,
  ],
  [
    "anthropic: too long",
    400,
    json({
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" },
    }),
    "context_length",
    false,
  ],
  [
    "llama.cpp: too long",
    400,
    json({
      error: {
        code: 400,
        message: "the request exceeds the available context size",
        type: "exceed_context_size_error",
      },
    }),
    "context_length",
    false,
  ],
  [
    "openrouter: error in a 200 stream",
    200,
    { error: { code: 429, message: "Provider returned error" } },
    "rate_limited",
    true,
  ],
  [
    "openai: repeats a request that speaks of a key",
    400,
    json({ error: { message: "Invalid value: 'invalid api key'. Supported values are: 'low' and 'high'." } }),
    "bad_request",
    false,
  ],
  [
    "vllm: repeats a request that speaks of a quota",
    400,
    json({ error: { message: "[{'type': 'missing', 'input': {'prompt': 'insufficient_quota'}}]" } }),
    "bad_request",
    false,
  ],
  ["anyone: wrong parameter", 400, json({ error: { message: "temperature must be at most 2" } }), "bad_request", false],
  ["cohere: flat", 422, json({ message: "invalid request" }), "bad_request", false],
  ["proxy: gateway timeout, HTML", 504, "<html>504</html>", "timeout", true],
  ["anyone: broken", 500, "", "internal", true],
];

describe("what a provider says is told in the contract's words", () => {
  test.each(TABLE)("%s (%s)", (_who, status, body, code, retryable) => {
    const failure = classifyFailure({ body, ...(status === undefined ? {} : { status }) }, NOW);
    expect(failure).toMatchObject({ code, retryable });
    const isAboutRequest = status === 403 && code !== "unauthorized";
    if (status !== undefined && status >= 400) expect(failure.status).toBe(isAboutRequest ? 400 : status);
  });

  test("a missing model is told with the specification's words first", () => {
    const missing = classifyFailure({ status: 404, body: json({ error: "model 'x' not found" }) }, NOW);
    expect(missing.message).toMatch(/^Model not found: model 'x' not found$/);
    const unloaded = classifyFailure({ status: 400, body: json({ error: "No models loaded." }) }, NOW);
    expect(unloaded.message).toMatch(/^No model loaded/);
    expect(classifyFailure({ status: 429, body: "" }, NOW).message).toBe("429 Too Many Requests / Rate limit exceeded");
  });

  test.each([
    ["seconds", { "retry-after": "7" }, "", 7],
    ["a date", { "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" }, "", 30],
    ["a date that has passed", { "retry-after": "Wed, 31 Dec 2025 23:00:00 GMT" }, "", 0],
    ["milliseconds, rounded up", { "retry-after-ms": "1200" }, "", 2],
    [
      "Google's RetryInfo",
      {},
      json({
        error: {
          code: 429,
          status: "RESOURCE_EXHAUSTED",
          message: "m",
          details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "26.4s" }],
        },
      }),
      27,
    ],
    ["nothing", {}, "", undefined],
    ["nonsense", { "retry-after": "soon" }, "", undefined],
  ])("how long to wait is read from %s", (_from, headers, body, seconds) => {
    expect(classifyFailure({ status: 429, headers, body }, NOW).retry_after_seconds).toBe(seconds);
  });

  test.each([
    ["tgi", { message: "Request failed during generation: CANCELLED", http_status_code: 500 }, 500],
    ["lmstudio", { message: "The model has crashed without additional information." }, 502],
    ["lmstudio, text", "Error rendering prompt with jinja template", 502],
  ])("what %s says in a stream is passed on as its failure", (_, error, status) => {
    const words = typeof error === "string" ? error : error.message;
    expect(classifyFailure({ body: { error } }, NOW)).toEqual({
      code: "internal",
      message: `The runtime failed: ${words}`,
      retryable: true,
      status,
    });
  });

  test("tgi's refusal in a stream is one, with its status", () => {
    const message = "Input validation error: `inputs` must have less than 4096 tokens";
    const refused = {
      code: expect.any(String),
      retryable: false,
      status: 422,
      message: expect.stringContaining(message),
    };
    expect(classifyFailure({ body: { error: { message, http_status_code: 422 } } }, NOW)).toMatchObject(refused);
    expect(classifyFailure({ body: { error: message, error_type: "validation" } }, NOW)).toMatchObject(refused);
  });

  test("a long body is cut, so that it fits into an error", () => {
    expect(classifyFailure({ status: 500, body: "x".repeat(100_000) }, NOW).message.length).toBeLessThanOrEqual(500);
  });
});

describe("what the AI SDK throws", () => {
  const call = { url: "http://127.0.0.1", requestBodyValues: {} };

  test("a refused connection is a runtime that cannot be reached, and worth another try", () => {
    const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" });
    const error = new APICallError({ ...call, message: "Cannot connect to API", cause: refused });
    expect(classifyError(error, NOW)).toEqual({
      code: "runtime_unreachable",
      message: "The runtime cannot be reached: connect ECONNREFUSED 127.0.0.1:1",
      retryable: true,
    });
    const broken = new TypeError("terminated", {
      cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }),
    });
    expect(classifyError(broken, NOW)).toEqual({
      code: "runtime_unreachable",
      message: "The runtime's connection broke off: other side closed",
      retryable: true,
      status: 502,
    });
  });

  test("a bug of the worker's own is not retried", () => {
    expect(classifyError(new RangeError("Invalid array length"), NOW)).toMatchObject({
      code: "internal",
      retryable: false,
    });
  });
});
