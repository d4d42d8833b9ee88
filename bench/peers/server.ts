// Another queue behind HTTP: the floor's three calls, and one that opens a queue. On plain node:http, the leanest
// server on Node, so that the queue is measured and not a framework. An answer is sent when the queue says that the
// change is stored.

import { createServer, type IncomingMessage } from "node:http";

export interface PeerJob {
  id: string;
  prompt: string;
}

export interface PeerQueue {
  create: (prompt: string) => Promise<{ id: string }>;
  /** One job with its data; null if none is waiting. */
  claim: () => Promise<PeerJob | null>;
  /** Throws unless this completed the job. */
  complete: (id: string, result: string) => Promise<void>;
}

interface Body {
  prompt: string;
  id: string;
  result: string;
}

const bodyOf = (request: IncomingMessage): Promise<Body> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => resolve(JSON.parse(Buffer.concat(chunks).toString("utf8"))));
    request.on("error", reject);
  });

const run = async (queue: PeerQueue, verb: string, body: Body): Promise<unknown> => {
  switch (verb) {
    case "open":
      return {};
    case "create":
      return queue.create(body.prompt);
    case "claim":
      return queue.claim();
    case "complete":
      await queue.complete(body.id, body.result);
      return { id: body.id };
    default:
      throw new Error(`no such call: ${verb}`);
  }
};

/** `/health`, else `/<queue>/<verb>`. */
export const serve = (port: number, open: (name: string) => Promise<PeerQueue>): void => {
  const queues = new Map<string, Promise<PeerQueue>>();
  const queueOf = (name: string): Promise<PeerQueue> => {
    const known = queues.get(name);
    if (known !== undefined) return known;
    const opened = open(name);
    queues.set(name, opened);
    return opened;
  };
  const answer = async (request: IncomingMessage): Promise<unknown> => {
    const [, name = "", verb = ""] = (request.url ?? "").split("/");
    return name === "health" ? {} : run(await queueOf(name), verb, await bodyOf(request));
  };
  createServer((request, response) => {
    const send = (status: number, value: unknown) => {
      const text = JSON.stringify(value);
      response.sendDate = false;
      response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
      response.end(text);
    };
    answer(request).then(
      (value) => send(200, value),
      (error: Error) => send(500, { error: error.message }),
    );
  }).listen(port, "127.0.0.1");
};
