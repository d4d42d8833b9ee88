// Gemini: clients' requests go to its OpenAI-compatible API; ordinary jobs go to its native API, whose token counts
// include reasoning.

import { createGoogle } from "@ai-sdk/google";
import type { Backend } from "../calls/backend.ts";
import { hidingSecret } from "../calls/hide-secret.ts";
import { createOpenAiBackend } from "../calls/openai-backend.ts";
import { converted } from "./converted-chat.ts";
import { hostedWay, runtimeFetch } from "./runtime-fetch.ts";

type GeminiBackendOptions = { name: string; baseUrl: string; key: () => Promise<string | null> };

export const createGeminiBackend = ({ name, baseUrl, key }: GeminiBackendOptions): Backend => {
  const surface = createOpenAiBackend({ way: hostedWay, name, baseUrl: `${baseUrl}/openai`, key });
  return {
    chat: async (body, run) => {
      const secret = await key();
      const open = (model: string) =>
        createGoogle({ baseURL: baseUrl, apiKey: secret ?? "", fetch: runtimeFetch })(model);
      return hidingSecret(secret, () => converted({ name, kind: "gemini", open }, body, run));
    },
    request: surface.request,
  };
};
