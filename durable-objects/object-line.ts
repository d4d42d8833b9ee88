// The line from the edge in Node to an object, self-hosted: a WebSocket on which each message is a call, or a group of
// calls, and its answer a message with the same number. It does not hibernate and is none of the tenant's sockets
// (`sockets.ts`); the edge closes an idle line, so that the object may sleep. Invariant: the platform holds an answer,
// like all that an object sends, until what it tells is stored.

import { type Outcome, thrownOf } from "./grouped-calls.ts";
import { close, send } from "./sockets.ts";

/** The way to it within an object's `fetch`. */
export const LINE_URL = "https://object/line";
/** The method that takes a group of calls (`grouped-calls.ts`). */
export const GROUP = "group";

const STATUS_SWITCHING = 101;
const INTERNAL_ERROR = 1011;

/** `text`: a method's arguments as a JSON array, or a group. */
export interface Asked {
  readonly number: number;
  readonly method: string;
  readonly text: string;
}

export type Answered = Omit<Asked, "method">;

export const askedText = ({ number, method, text }: Asked): string => `${number} ${method}\n${text}`;

export const answeredText = ({ number, text }: Answered): string => `${number}\n${text}`;

export const readAsked = (message: string): Asked => {
  const [space, end] = [message.indexOf(" "), message.indexOf("\n")];
  return {
    number: Number(message.slice(0, space)),
    method: message.slice(space + 1, end),
    text: message.slice(end + 1),
  };
};

export const readAnswered = (message: string): Answered => {
  const end = message.indexOf("\n");
  return { number: Number(message.slice(0, end)), text: message.slice(end + 1) };
};

/** Calls may be under way side by side; if one has no answer, the line ends. */
export const openLine = (answer: (method: string, text: string) => Promise<string>): Response => {
  const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
  server.accept();
  server.addEventListener("message", ({ data }) => {
    const { number, method, text } = readAsked(String(data));
    answer(method, text).then(
      (answered) => send(server, answeredText({ number, text: answered })),
      () => close(server, INTERNAL_ERROR, "a call has no answer"),
    );
  });
  return new Response(null, { status: STATUS_SWITCHING, webSocket: client });
};

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** Calls a method of an object; its outcome as JSON. */
export const callMethod = async (object: object, method: string, args: string): Promise<string> => {
  try {
    const value = await (object as Record<string, Method>)[method]?.(...(JSON.parse(args) as unknown[]));
    return JSON.stringify({ value: value ?? null } satisfies Outcome);
  } catch (error) {
    return JSON.stringify({ thrown: thrownOf(error) } satisfies Outcome);
  }
};
