// What a job's `input` may hold when it is an object: the settings of a model call, in OpenAI's words. The worker reads
// it; the coordinator stores any JSON and looks at none of it.

import * as z from "zod";

const MAX_MESSAGES = 1000;

const turn = z.looseObject({ role: z.enum(["system", "developer", "user", "assistant", "tool"]) });
const anyObject = z.looseObject({});

export const jobInput = z
  .object({
    system: z.string().optional().meta({ description: "the instructions: the first turn" }),
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
    response_format: anyObject.optional().meta({ description: "such as a JSON schema that the answer must fit" }),
    reasoning_effort: z.string().optional(),
  })
  .meta({
    id: "JobInput",
    description:
      "What `input` may hold when it is an object and a model runs the job. Text as `input` follows the prompt. A field that the runtime cannot carry fails the job with `unsupported_input`, which names it",
  });
