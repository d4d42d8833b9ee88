// A model runtime of a few lines: a test sets its answers, and it records the requests.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

// biome-ignore lint/suspicious/noExplicitAny: the body is whatever the provider's API wants, and tests look into it freely
type Body = any;

export type RuntimeRequest = {
  method: string;
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: Body;
};

export type Answer = {
  status?: number;
  headers?: Record<string, string>;
  /** A string is sent unchanged, an array as the events of a stream, anything else as JSON. */
  body?: unknown;
  /** Cuts the connection after the body. */
  breaksOff?: boolean;
  /** Never ends. */
  hangs?: boolean;
};

export class FakeRuntime {
  readonly asked: RuntimeRequest[] = [];
  url = "";
  readonly #server: Server;
  #whenGone = () => {};
  /** Resolves when a client disconnects from a hanging answer. */
  readonly gone = new Promise<void>((resolve) => {
    this.#whenGone = resolve;
  });

  constructor(answer: (asked: RuntimeRequest) => Answer) {
    this.#server = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += String(chunk);
      const { method = "GET", url = "/", headers } = request;
      const asked = { method, path: url, headers, body: text === "" ? null : JSON.parse(text) };
      this.asked.push(asked);
      const { status = 200, headers: extra = {}, body = "", breaksOff = false, hangs = false } = answer(asked);
      const isStream = Array.isArray(body);
      response.writeHead(status, { "content-type": isStream ? "text/event-stream" : "application/json", ...extra });
      response.on("close", () => hangs && this.#whenGone());
      const out = isStream ? body.join("") : typeof body === "string" ? body : JSON.stringify(body);
      if (breaksOff) response.write(out, () => response.destroy());
      else if (hangs) response.write(out);
      else response.end(out);
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  /** May be called twice. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

export function event(data: unknown, name?: string): string {
  return `${name ? `event: ${name}\n` : ""}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

/** What an OpenAI-compatible server streams: the words, the finish reason, its usage. */
export function openaiStream(
  model: string,
  words: string[],
  usage: unknown = null,
  finish: string | null = "stop",
): string[] {
  const base = { id: "c1", object: "chat.completion.chunk", created: 1, model };
  const chunk = (delta: object, finish_reason: string | null = null) =>
    event({ ...base, choices: [{ index: 0, delta, finish_reason }] });
  return [
    ...words.map((content) => chunk({ role: "assistant", content })),
    ...(finish === null ? [] : [chunk({}, finish)]),
    ...(usage === null ? [] : [event({ ...base, choices: [], usage })]),
    event("[DONE]"),
  ];
}
