// The built-in runtime: answers every prompt with the prompt, at no cost and with no model, and the same way each time.
// Usage counts whitespace-separated words. `input` may steer it, for tests and for trying the service out:
//   {"delay_ms": 500}   answer after that long         {"chunks": 4}   report progress that many times on the way
//   {"fail": {"code": "rate_limited", "message": "…", "status": 429, "retryable": true, "retry_after_seconds": 2}}
// Any other input is accepted and ignored.

import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import type { JobFailure, Outcome, RunOptions, Runtime, Task } from "./runtime.ts";
import { failed } from "./runtime.ts";

const MAX_DELAY_MS = 3_600_000;
const MAX_CHUNKS = 1000;

const steeringSchema = z.object({
  delay_ms: z.number().int().min(0).max(MAX_DELAY_MS).default(0),
  chunks: z.number().int().min(1).max(MAX_CHUNKS).default(1),
  fail: z
    .object({
      code: z.string().min(1).default("internal"),
      message: z.string().min(1).default("The job asked the echo runtime to fail"),
      status: z.number().int().min(100).max(599).optional(),
      retryable: z.boolean().default(false),
      retry_after_seconds: z.number().min(0).optional(),
    })
    .optional(),
});

export function createEchoRuntime(): Runtime {
  return { name: "echo", run: runEcho };
}

async function runEcho(task: Task, options: RunOptions): Promise<Outcome> {
  const parsed = steeringSchema.safeParse(isObject(task.input) ? task.input : {});
  if (!parsed.success) {
    return failed({ code: "bad_request", message: `echo input: ${z.prettifyError(parsed.error)}`, retryable: false });
  }
  const { delay_ms, chunks, fail } = parsed.data;
  for (let chunk = 1; chunk <= chunks; chunk++) {
    if (delay_ms > 0) await delay(delay_ms / chunks, undefined, { signal: options.signal });
    options.onProgress({ output_chars: Math.round((task.prompt.length * chunk) / chunks) });
  }
  const input_tokens = countWords(task.prompt);
  if (fail) return failed(withoutUndefined(fail), { usage: { input_tokens, output_tokens: 0 } });
  const model = task.model ?? "echo";
  return {
    ok: true,
    result: { text: task.prompt, finish_reason: "stop", model },
    usage: { input_tokens, output_tokens: input_tokens },
    model,
  };
}

function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => word !== "").length;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function withoutUndefined(fail: NonNullable<z.infer<typeof steeringSchema>["fail"]>): JobFailure {
  const { status, retry_after_seconds, ...rest } = fail;
  return {
    ...rest,
    ...(status === undefined ? {} : { status }),
    ...(retry_after_seconds === undefined ? {} : { retry_after_seconds }),
  };
}
