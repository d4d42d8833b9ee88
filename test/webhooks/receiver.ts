// An endpoint for webhooks: records what it gets, answers as told.

import { createServer, type IncomingHttpHeaders } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Told {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Record<string, unknown>;
}

const WAIT_MS = 25_000;

export const openReceiver = async () => {
  const received: Received[] = [];
  let status: number | "never" = 200;
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      received.push({ path: request.url ?? "", headers: request.headers, body });
      if (status === "never") return;
      response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;

  const toldOf = (type: string) =>
    received.map((one) => ({ ...one, told: JSON.parse(one.body) as Told })).filter(({ told }) => told.type === type);

  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    answerWith: (next: number | "never") => {
      status = next;
    },
    toldOf,
    /** The first `count` deliveries of such an event, once they have arrived. */
    next: async (type: string, count = 1) => {
      const giveUpAt = Date.now() + WAIT_MS;
      while (toldOf(type).length < count) {
        if (Date.now() > giveUpAt)
          throw new Error(`no ${type} came; came: ${received.map((one) => one.body).join("\n")}`);
        await sleep(20);
      }
      return toldOf(type).slice(0, count);
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

export type Receiver = Awaited<ReturnType<typeof openReceiver>>;
