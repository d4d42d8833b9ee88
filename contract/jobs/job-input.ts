// What a job's `input` may contain when it is an object: the parameters of a model call, with OpenAI's names. The
// worker reads it; the coordinator stores any JSON without looking at it.

import * as z from "zod";

const MAX_MESSAGES = 1000;

const turn = z.looseObject({ role: z.enum(["system", "developer", "user", "assistant", "tool"]) });
const anyObject = z.looseObject({});

export const jobInput = z
  .object({
    system: z.string().optional().meta({ description: "the system prompt" }),
    messages: z.array(turn).max(MAX_MESSAGES).optional().meta({ description: "the turns before the prompt" }),
    temperature: z.number().min(0).max(2).optional(),
    max_tokens: z.int().positive().optional(),
    top_p: z.number().min(0).max(1).optional(),
    top_k: z.int().positive().optional(),
    min_p: z.number().min(0).max(1).optional(),
    presence_penalty: z.number().min(-2).max(2).optional(),
    frequency_penalty: z.number().min(-2).max(2).optional(),
    repetition_penalty: z.number().positive().optional(),
    logit_bias: z.record(z.string(), z.number()).optional(),
    stop: z.union([z.string(), z.array(z.string())]).optional(),
    seed: z.int().optional(),
    tools: z.array(anyObject).optional(),
    tool_choice: z.union([z.string(), anyObject]).optional(),
    parallel_tool_calls: z.boolean().optional(),
    response_format: anyObject.optional().meta({ description: "for example a JSON schema that the answer must match" }),
    reasoning_effort: z.string().optional(),
  })
  .meta({
    id: "JobInput",
    description:
      "What `input` may contain when it is an object and a model runs the job. If `input` is text, it follows the prompt. A field that the runtime does not support fails the job with `unsupported_input`, which names the field",
  });
