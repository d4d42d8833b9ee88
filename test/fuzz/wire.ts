// One request over plain HTTP, with any method, path and bytes, unlike a client that would normalise them.

import { Agent, request as httpRequest, type IncomingHttpHeaders } from "node:http";

export interface WireRequest {
  readonly method: string;
  /** As sent: path and query, escaped by the caller. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Uint8Array | null;
}

export interface WireAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const ANSWER_WITHIN_MS = 15_000;
const agent = new Agent({ keepAlive: true, maxSockets: 8 });

export const send = (base: string, { method, target, headers = {}, body = null }: WireRequest): Promise<WireAnswer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base);
    const length = body === null ? {} : { "content-length": String(body.byteLength) };
    const sent = httpRequest({ agent, hostname, port, method, path: target, headers: { ...headers, ...length } });
    sent.setTimeout(ANSWER_WITHIN_MS, () => sent.destroy(new Error(`${method} ${target} was not answered`)));
    sent.on("error", reject);
    sent.on("upgrade", (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text: "" });
    });
    sent.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    sent.end(body ?? undefined);
  });
