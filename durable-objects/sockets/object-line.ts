// The line from the edge in Node to an object, self-hosted: a WebSocket. Each message is a call, or a group of
// calls; the answer is a message with the same number, if the call needs one. It does not hibernate; the edge
// closes an idle line, so that the object may sleep. Invariant: the platform holds what an object sends until the
// writes before it are stored.

import { SWITCHING_PROTOCOLS } from "../../contract/words/http-status.ts";
import { type Outcome, thrownOf } from "../calls/grouped-calls.ts";
import type { Credential } from "../steps/holders.ts";
import { close, send } from "./hibernating-sockets.ts";
import { INTERNAL_ERROR } from "./tenant-socket.ts";

/** The way to it within an object's `fetch`. */
export const LINE_URL = "https://object/line";
/** The method that takes a group of calls (`grouped-calls.ts`). */
export const GROUP = "group";
/** The method that takes one call, which may wait; its text and its answer's line go as they are, too. */
export const ALONE = "alone";

/** The method that opens a client's socket. */
export const OPEN_SOCKET = "openSocket";
/** Its arguments: the edge numbers the sockets of a line; `instance` is null for a viewer. */
export type SocketAsked = [number: number, credential: Credential, instance: string | null];
/** The method of a group of what sockets said (`socket-group.ts`). */
export const SOCKETS = "sockets";
/** The number of a message without an answer. */
export const NO_ANSWER = 0;

/** `text`: a method's arguments as a JSON array, or a group. */
interface LineCall {
  readonly number: number;
  readonly method: string;
  readonly text: string;
}

export type Answered = Omit<LineCall, "method">;

export const askedText = ({ number, method, text }: LineCall): string => `${number} ${method}\n${text}`;

export const answeredText = ({ number, text }: Answered): string => `${number}\n${text}`;

export const readAsked = (message: string): LineCall => {
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

/** Sends the edge what answers nothing. */
type Tell = (message: string | Uint8Array) => void;

/** What an object does on a line. */
export interface LineEnd {
  readonly answer: (method: string, text: string) => Promise<string>;
  /** Takes what needs no answer. */
  readonly hear?: (text: string) => void;
  readonly ended?: () => void;
}

/** Calls may be under way side by side; if one has no answer, the line ends. */
export const openLine = (begin: (tell: Tell) => LineEnd): Response => {
  const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
  server.accept();
  const say = (number: number, text: string): void => send(server, answeredText({ number, text }));
  const fail = (): void => close(server, INTERNAL_ERROR, "a call has no answer");
  const end = begin((message) => (typeof message === "string" ? say(NO_ANSWER, message) : send(server, message)));
  server.addEventListener("message", ({ data }) => {
    const { number, method, text } = readAsked(String(data));
    if (number === NO_ANSWER) end.hear?.(text);
    else end.answer(method, text).then((answered) => say(number, answered), fail);
  });
  server.addEventListener("close", () => end.ended?.());
  return new Response(null, { status: SWITCHING_PROTOCOLS, webSocket: client });
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
