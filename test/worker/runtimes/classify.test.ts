// What a provider says of keys and requests, in the contract's words, and what is read of its words.

import { APICallError } from "ai";
import { describe, expect, test } from "vitest";
import { isNeverReached } from "../../../contract/text/error-causes.ts";
import { classifyFailure } from "../../../worker/calls/failure.ts";
import { classifyError } from "../../../worker/runtimes/classify.ts";
import { isToldAs, json, NOW, type Told } from "./provider-failure.ts";

const TABLE: Told[] = [
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
  test.each(TABLE)("%s (%s)", isToldAs);

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
  });

  const broken = new TypeError("terminated", {
    cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }),
  });

  test.each([
    ["in the stream", broken],
    ["before the answer", new APICallError({ ...call, message: "Cannot connect to API", cause: broken })],
    [
      "at the beginning of the answer",
      new APICallError({ ...call, statusCode: 200, message: "Failed to process successful response", cause: broken }),
    ],
  ])("a connection that breaks off %s is told as that, with a status", (_, error) => {
    expect(classifyError(error, NOW)).toEqual({
      code: "runtime_unreachable",
      message: "The runtime's connection broke off: other side closed",
      retryable: true,
      status: 502,
    });
  });

  const coded = (code: string) => Object.assign(new Error("what Node says"), { code });

  test.each([
    "ERR_SSL_WRONG_VERSION_NUMBER",
    "UND_ERR_HEADERS_OVERFLOW",
    "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
    "Z_DATA_ERROR",
  ])("what is no answer of HTTP (%s) is told as a connection that broke off", (code) => {
    expect(classifyError(coded(code), NOW)).toMatchObject({
      code: "runtime_unreachable",
      retryable: true,
      status: 502,
    });
    expect(isNeverReached(coded(code))).toBe(false);
  });

  test.each(["DEPTH_ZERO_SELF_SIGNED_CERT", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID"])(
    "a certificate that is refused (%s) is a runtime that was never reached",
    (code) => {
      expect(classifyError(coded(code), NOW)).toMatchObject({ code: "runtime_unreachable", retryable: true });
      expect(isNeverReached(coded(code))).toBe(true);
    },
  );

  test("a first event that the SDK cannot read is an answer that is unreadable", () => {
    const error = new Error("Expected a normalized Anthropic stream error");
    expect(classifyError(error, NOW)).toMatchObject({ code: "internal", retryable: true, status: 502 });
  });

  test("a bug of the worker's own is not retried", () => {
    expect(classifyError(new RangeError("Invalid array length"), NOW)).toMatchObject({
      code: "internal",
      retryable: false,
    });
  });
});
