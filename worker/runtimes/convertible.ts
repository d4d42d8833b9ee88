// The models that a chat is converted for, and the error for what cannot be carried to them.

import type { createAnthropic } from "@ai-sdk/anthropic";

export type ConvertibleModel = ReturnType<ReturnType<typeof createAnthropic>>;
export type CallOptions = Parameters<ConvertibleModel["doStream"]>[0];

/** `parameter` is the field that is to blame. */
export class CannotCarry extends Error {
  readonly parameter: string;
  constructor(parameter: string, message: string) {
    super(message);
    this.parameter = parameter;
  }
}
