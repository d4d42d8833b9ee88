// The rules of server-sent events (HTML standard) that all readers here share: what ends a line and an event, and what a
// field's value is. The typed client parses fields from bytes; the worker and the relay only cut a text between events
// and pass each on unchanged, because a relay reads every token.

import { startOf } from "./start-of.ts";

/** A carriage return at the end may be the first half of a line end, so it ends nothing yet. */
export const LINE_END: RegExp = /\r\n|\n|\r(?!$)/;
/** An empty line ends an event; each of the two line ends may be any of the three. */
const EVENT_END = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n|$))/g;
/** How far before the end of a text an event's end may have begun. */
export const LONGEST_EVENT_END = 4;

/** Where the events of a text end. */
export function* eventEndsIn(text: string): Generator<number> {
  const end = new RegExp(EVENT_END);
  while (end.exec(text) !== null) yield end.lastIndex;
}

/** Whether a text ends with an event's end, so that what follows is another event. */
export const endsWhole = (text: string): boolean => ENDED.test(text.slice(-LONGEST_EVENT_END));
const ENDED = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)$/;

/** Name and value of a line; a comment's name is empty. */
export const fieldOf = (line: string): { readonly name: string; readonly value: string } => {
  const colon = line.indexOf(":");
  if (colon === -1) return { name: line, value: "" };
  return { name: line.slice(0, colon), value: line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1) };
};

/** An event's `data` lines joined; empty for a comment. */
export const dataOf = (event: string): string =>
  event
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => fieldOf(line).value)
    .join("\n");

/** The events of a text, without the empty lines that end them; the last may lack its own. */
export const eventsIn = (text: string): string[] => {
  if (!text.includes("\r")) return text.split("\n\n").filter((event) => event.trim() !== "");
  const events: string[] = [];
  let start = 0;
  for (const end of eventEndsIn(text)) {
    events.push(text.slice(start, end));
    start = end;
  }
  return [...events, text.slice(start)].map((event) => event.replace(/[\r\n]+$/, "")).filter((event) => event !== "");
};

/** An event in pieces of about so many characters: no character is cut, and the last has the event's end. */
export function* piecesOf(event: string, chars: number): Generator<string> {
  let at = 0;
  while (event.length - at > chars + LONGEST_EVENT_END) {
    const piece = startOf(event.slice(at, at + chars + 1), chars);
    yield piece;
    at += piece.length;
  }
  yield event.slice(at);
}
