// A model runtime that costs next to nothing: it streams the requested number of words at the requested pace, and
// reports when a client disconnects.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const MODEL = "bench-model";

export interface Said {
  readonly words: number;
  /** Between two words. */
  readonly everyMs: number;
}

export interface StreamingRuntime {
  readonly url: string;
  /** Resolves when a client disconnects before its answer is complete. */
  readonly hungUp: () => Promise<void>;
  /** Answers that are not complete. */
  readonly openCount: () => number;
  readonly stop: () => void;
}

const event = (choice: object): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: MODEL, choices: [{ index: 0, ...choice }] })}\n\n`;
const WORD = event({ delta: { content: "word " }, finish_reason: null });
const END = `${event({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`;

const speak = (answer: ServerResponse, { words, everyMs }: Said): void => {
  answer.writeHead(200, { "content-type": "text/event-stream" });
  let left = words;
  const say = (): void => {
    if (left-- > 0) answer.write(WORD);
    else answer.end(END);
  };
  say();
  const talking = setInterval(() => {
    say();
    if (left < 0) clearInterval(talking);
  }, everyMs);
  answer.once("close", () => clearInterval(talking));
};

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
};

export const startStreamingRuntime = async (): Promise<StreamingRuntime> => {
  let tell = (): void => undefined;
  let openCount = 0;
  const answerTo = async (request: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const { metadata } = JSON.parse((await bodyOf(request)) || "{}") as { metadata?: { words: string; every: string } };
    if (request.method === "GET")
      answer.end(JSON.stringify({ object: "list", data: [{ id: MODEL, object: "model" }] }));
    else if (metadata === undefined) answer.writeHead(400).end("{}");
    else {
      openCount += 1;
      answer.once("close", () => {
        openCount -= 1;
        if (!answer.writableFinished) tell();
      });
      speak(answer, { words: Number(metadata.words), everyMs: Number(metadata.every) });
    }
  };
  const server = createServer((request, answer) => void answerTo(request, answer).catch(() => answer.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hungUp: () =>
      new Promise((resolve) => {
        tell = resolve;
      }),
    openCount: () => openCount,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};
