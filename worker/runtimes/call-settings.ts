// From a job's `prompt` and `input` to the arguments of one model call. Pure.
// An `input` object's known keys (SETTINGS below, `system`, `messages`) are settings; whatever else it holds, or an input
// that is no object, is material: appended to the prompt, a string as it is, all else as JSON. `messages` are the turns
// before the prompt, which always comes last as the user's. A known key with a wrong value is refused, never dropped.

import { type ModelMessage, modelMessageSchema } from "ai";
import * as z from "zod";

export type CallSettings = {
  instructions?: string;
  messages: ModelMessage[];
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  stopSequences?: string[];
  seed?: number;
};

const settingsSchema = z.object({
  system: z.string().optional(),
  messages: z.array(modelMessageSchema).max(1000).optional(),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: z.int().positive().optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.int().positive().optional(),
  presence_penalty: z.number().min(-2).max(2).optional(),
  frequency_penalty: z.number().min(-2).max(2).optional(),
  stop: z.union([z.string().transform((text) => [text]), z.array(z.string())]).optional(),
  seed: z.int().optional(),
});

/** The wire's names and the AI SDK's. */
const SETTINGS = {
  system: "instructions",
  temperature: "temperature",
  max_tokens: "maxOutputTokens",
  top_p: "topP",
  top_k: "topK",
  presence_penalty: "presencePenalty",
  frequency_penalty: "frequencyPenalty",
  stop: "stopSequences",
  seed: "seed",
} as const satisfies Partial<Record<keyof z.infer<typeof settingsSchema>, keyof CallSettings>>;

export function callSettings(
  prompt: string,
  input: unknown,
): { ok: true; settings: CallSettings } | { ok: false; message: string } {
  if (!isObject(input)) return { ok: true, settings: { messages: [userTurn(prompt, input)] } };
  const parsed = settingsSchema.safeParse(input);
  if (!parsed.success) return { ok: false, message: `input: ${z.prettifyError(parsed.error)}` };
  const known = parsed.data;
  const material = Object.entries(input).filter(([key]) => !Object.hasOwn(settingsSchema.shape, key));
  const turn = userTurn(prompt, material.length === 0 ? null : Object.fromEntries(material));
  const named = Object.entries(SETTINGS).flatMap(([wire, name]) => {
    const value = known[wire as keyof typeof SETTINGS];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ok: true, settings: { ...Object.fromEntries(named), messages: [...(known.messages ?? []), turn] } };
}

function userTurn(prompt: string, material: unknown): ModelMessage {
  if (material === null || material === undefined) return { role: "user", content: prompt };
  const text = typeof material === "string" ? material : JSON.stringify(material);
  return { role: "user", content: `${prompt}\n\n${text}` };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
