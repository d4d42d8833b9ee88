// What a handler's error means for its job. Pure.

import { lineOf, startOf } from "../../contract/text/start-of.ts";
import type { JobFailure } from "../calls/runtime.ts";
import { Fail, FileNotKept, Retry } from "./handler.ts";

const MAX_CODE_CHARS = 64;
const MAX_MESSAGE_CHARS = 8_000;

export const failureBy = (thrown: unknown): JobFailure => {
  if (thrown instanceof FileNotKept) return thrown.failure;
  const message = startOf(messageOf(thrown), MAX_MESSAGE_CHARS);
  if (thrown instanceof Retry) {
    const after = thrown.afterSeconds;
    return {
      code: "retry",
      message,
      retryable: true,
      ...(after === null ? {} : { retry_after_seconds: Math.max(0, after) }),
    };
  }
  const code = thrown instanceof Fail ? String(thrown.code) : codeOf(thrown);
  return { code: lineOf(code, MAX_CODE_CHARS) || "failed", message, retryable: false };
};

const messageOf = (thrown: unknown): string => {
  if (thrown instanceof Retry || thrown instanceof Fail) return thrown.message;
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
};

/** `TypeError` → `type_error`. */
const codeOf = (thrown: unknown): string => {
  const name = thrown instanceof Error ? thrown.name : "error";
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();
};
