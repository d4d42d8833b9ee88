// The APIs that can be passed through; the type requires every API.

import type { Api } from "../../contract/words/values.ts";
import type { Dialect } from "./dialect.ts";
import { media, mediaSpent } from "./media.ts";
import { messages } from "./messages.ts";
import { chatCompletions, completions, openaiSpent } from "./openai-chunks.ts";
import { responses } from "./responses.ts";

const transcript: Dialect = { ...media, answersInBytes: true, answerHas: ["text", "segments"] };

export const DIALECTS: Record<Api, Dialect> = {
  "chat/completions": chatCompletions,
  completions,
  embeddings: { assemble: null, spentOf: openaiSpent, answerHas: ["data"] },
  responses,
  // Some answer with the list itself.
  rerank: { assemble: null, spentOf: mediaSpent, answerHas: ["results", "data", "0"] },
  "images/generations": media,
  "images/edits": media,
  "audio/transcriptions": transcript,
  "audio/translations": transcript,
  "audio/speech": { ...media, answersInBytes: true, speaks: true, answerHas: ["audio", "data", "url"] },
  messages,
  // The runtime counts; nothing is generated, and nothing is spent.
  "messages/count_tokens": {
    assemble: null,
    spentOf: () => ({ usage: { input_tokens: 0, output_tokens: 0 } }),
    answerHas: ["input_tokens"],
  },
};
