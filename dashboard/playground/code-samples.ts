// The same chat as code; the key comes from the environment and is never in the text.

import type { ChatRequest } from "../../contract/client/front-door.ts";

export const SAMPLES = ["curl", "Python", "TypeScript", "AI SDK"] as const;
export type Sample = (typeof SAMPLES)[number];

interface SampleOptions {
  readonly origin: string;
  readonly request: ChatRequest;
  readonly tags: string;
}

const indented = (value: unknown, by: string): string => JSON.stringify(value, null, 2).replaceAll("\n", `\n${by}`);
const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const tagLine = (tags: string, line: string): string => (tags === "" ? "" : line);

const curl = ({ origin, request, tags }: SampleOptions): string =>
  `curl -N ${origin}/v1/chat/completions \\
  -H "Authorization: Bearer $SERVICE_API_KEY" \\
  -H "Content-Type: application/json" \\
${tagLine(tags, `  -H "X-Signalbox-Tags: ${tags}" \\\n`)}  -d ${shellQuoted(JSON.stringify(request, null, 2))}`;

const python = ({ origin, request, tags }: SampleOptions): string => `import os
from openai import OpenAI

client = OpenAI(
    base_url="${origin}/v1",
    api_key=os.environ["SERVICE_API_KEY"],
)
stream = client.chat.completions.create(
    model=${JSON.stringify(request.model)},
    messages=${indented(request.messages, "    ")},
${request.temperature === undefined ? "" : `    temperature=${request.temperature},\n`}${tagLine(tags, `    extra_headers={"X-Signalbox-Tags": ${JSON.stringify(tags)}},\n`)}    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`;

const typescript = ({ origin, request, tags }: SampleOptions): string => `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${origin}/v1",
  apiKey: process.env.SERVICE_API_KEY,
});
const stream = await client.chat.completions.create(
  {
    model: ${JSON.stringify(request.model)},
    messages: ${indented(request.messages, "    ")},
${request.temperature === undefined ? "" : `    temperature: ${request.temperature},\n`}    stream: true,
  },${tagLine(tags, `\n  { headers: { "X-Signalbox-Tags": ${JSON.stringify(tags)} } },`)}
);
for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? "");
}`;

const AI_SDK_IMPORTS = [
  'import { createOpenAICompatible } from "@ai-sdk/openai-compatible";',
  'import { streamText } from "ai";',
].join("\n");

const aiSdk = ({ origin, request, tags }: SampleOptions): string => `${AI_SDK_IMPORTS}

const signalbox = createOpenAICompatible({
  name: "signalbox",
  baseURL: "${origin}/v1",
  apiKey: process.env.SERVICE_API_KEY,
${tagLine(tags, `  headers: { "X-Signalbox-Tags": ${JSON.stringify(tags)} },\n`)}});
const { textStream } = streamText({
  model: signalbox(${JSON.stringify(request.model)}),
  messages: ${indented(request.messages, "  ")},
${request.temperature === undefined ? "" : `  temperature: ${request.temperature},\n`}});
for await (const text of textStream) process.stdout.write(text);`;

const WRITERS = { curl, Python: python, TypeScript: typescript, "AI SDK": aiSdk } as const satisfies Record<
  Sample,
  (asked: SampleOptions) => string
>;

export const sampleOf = (sample: Sample, asked: SampleOptions): string => WRITERS[sample](asked);
