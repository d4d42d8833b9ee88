// Clients' WebSockets on a line to each object, as the edge in Node has them, with the platform's sockets at both ends.

import { askedText, LINE_URL, NO_ANSWER, readAnswered } from "../../../durable-objects/sockets/object-line.ts";
import { type ClientSocket, ClientSockets } from "../../../self-host/edge/client-sockets.ts";

export type Knock = (path: string, init: RequestInit) => Promise<Response>;

const SWITCHING_PROTOCOLS = 101;

/** A line of its own to each object, for as long as it has sockets. */
const lines = new Map<string, Promise<ClientSockets>>();

export const socketsOf = (path: string, knock: Knock): Promise<ClientSockets> => {
  const line = lines.get(path) ?? openLine(path, knock);
  lines.set(path, line);
  return line;
};

const openLine = async (path: string, knock: Knock): Promise<ClientSockets> => {
  const { webSocket } = await knock(path, { headers: { upgrade: "websocket", "x-signalbox-url": LINE_URL } });
  if (webSocket === null) throw new Error("the door opens no line");
  const asked: ((answer: string) => void)[] = [];
  const ask = (method: string, text: string): Promise<string> => {
    webSocket.send(askedText({ number: asked.length + 1, method, text }));
    return new Promise((resolve) => asked.push(resolve));
  };
  const sockets: ClientSockets = new ClientSockets({
    call: async (method, args) => JSON.parse(await ask(method, JSON.stringify(args))).value,
    ask,
    takeTurn: () => null,
    tell: (method, text) => {
      webSocket.send(askedText({ number: NO_ANSWER, method, text }));
      if (sockets.size === 0) webSocket.close();
    },
    unsentBytes: () => 0,
  });
  webSocket.addEventListener("message", ({ data }) => {
    const { number, text } = readAnswered(String(data));
    if (number === NO_ANSWER) sockets.take(text);
    else asked[number - 1]?.(text);
  });
  webSocket.addEventListener("close", () => {
    lines.delete(path);
    sockets.end();
  });
  webSocket.accept();
  return sockets;
};

/** A new client: the answer with its end of the connection, and the edge's end. */
export const newClient = (): { readonly answer: Response; readonly socket: ClientSocket } => {
  const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
  const socket: ClientSocket = {
    listen: (onText, onClose) => {
      server.addEventListener("message", ({ data }) => onText(typeof data === "string" ? data : null));
      server.addEventListener("close", ({ code, reason }) => {
        server.close();
        onClose(code, reason);
      });
      server.accept();
    },
    send: (text) => server.send(new TextDecoder().decode(text)),
    close: (code, reason) => server.close(code, reason),
    cut: () => server.close(),
    pause: () => undefined,
    resume: () => undefined,
    told: () => undefined,
  };
  return { answer: new Response(null, { status: SWITCHING_PROTOCOLS, webSocket: client }), socket };
};
