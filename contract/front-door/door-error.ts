// Errors of the front door, in OpenAI's and in Anthropic's format.

import * as z from "zod";

export const openAiError = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().nullable(),
    }),
  })
  .meta({ id: "OpenAIError" });

export const anthropicError = z
  .object({
    type: z.literal("error"),
    error: z.object({ type: z.string(), message: z.string() }),
    request_id: z.string().meta({ description: "the request id" }),
  })
  .meta({ id: "AnthropicError" });
