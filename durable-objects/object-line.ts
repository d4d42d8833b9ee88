// The line from the edge in Node to an object, self-hosted: a WebSocket on which each message is a group of calls, and
// its answer a message with the same number. It does not hibernate and is none of the tenant's sockets (`sockets.ts`);
// the edge closes an idle line, so that the object may sleep. Invariant: the platform holds an answer, like all that an
// object sends, until what it tells is stored.

import { close, send } from "./sockets.ts";

/** The way to it within the object's `fetch`. */
export const LINE_URL = "https://tenant/line";

const INTERNAL_ERROR = 1011;

export interface Numbered {
  readonly number: number;
  readonly text: string;
}

export const numberedText = ({ number, text }: Numbered): string => `${number}\n${text}`;

export const readNumbered = (message: string): Numbered => {
  const end = message.indexOf("\n");
  return { number: Number(message.slice(0, end)), text: message.slice(end + 1) };
};

/** Returns the other end. Groups may be under way side by side; if one has no answer, the line ends. */
export const openLine = (answer: (group: string) => Promise<string>): WebSocket => {
  const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
  server.accept();
  server.addEventListener("message", ({ data }) => {
    const { number, text } = readNumbered(String(data));
    answer(text).then(
      (outcomes) => send(server, numberedText({ number, text: outcomes })),
      () => close(server, INTERNAL_ERROR, "a group has no answer"),
    );
  });
  return client;
};
