// The kinds of models that chats are converted for, and the error for what they do not support.

import type { createAnthropic } from "@ai-sdk/anthropic";

export type ConvertibleModel = ReturnType<ReturnType<typeof createAnthropic>>;
export type CallOptions = Parameters<ConvertibleModel["doStream"]>[0];

/** `parameter` is the field that is not supported. */
export class CannotCarry extends Error {
  readonly parameter: string;
  constructor(parameter: string, message: string) {
    super(message);
    this.parameter = parameter;
  }
}
