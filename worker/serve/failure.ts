// What a handler's error means for its job. Pure.

import { lineOf, startOf } from "../../contract/text/start-of.ts";
import type { JobFailure } from "../calls/runtime.ts";
import { MAX_CODE_CHARS, MAX_MESSAGE_CHARS } from "../exec/instruction.ts";
import { Fail, FileNotKept, Retry } from "./handler.ts";

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
  return isError(thrown) ? `${nameOf(thrown)}: ${thrown.message}` : String(thrown);
};

/** Of another realm, and of a library whose errors are plain objects, an error is what has a message. */
const isError = (thrown: unknown): thrown is { readonly name?: unknown; readonly message: string } =>
  typeof thrown === "object" && thrown !== null && "message" in thrown && typeof thrown.message === "string";

const nameOf = ({ name }: { readonly name?: unknown }): string =>
  typeof name === "string" && name !== "" ? name : "Error";

/** `TypeError` → `type_error`. */
const codeOf = (thrown: unknown): string =>
  nameOf(isError(thrown) ? thrown : {})
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_")
    .toLowerCase();
