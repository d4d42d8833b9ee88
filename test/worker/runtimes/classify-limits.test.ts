// What a provider says of its models, its load and its limits, in the contract's words.

import { test } from "vitest";
import { isToldAs, json, type Told } from "./provider-failure.ts";

const TABLE: Told[] = [
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
    "openrouter: error in a 200 stream",
    200,
    { error: { code: 429, message: "Provider returned error" } },
    "rate_limited",
    true,
  ],
];

test.each(TABLE)("%s (%s)", isToldAs);
