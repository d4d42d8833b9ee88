// Parses server-sent events from an answer's bytes: fields, comments, and all kinds of line end (`event-text.ts`).

import { fieldOf, LINE_END } from "./event-text.ts";

export interface ServerSentEvent {
  /** `message` if the stream gives no name. */
  readonly event: string;
  /** The last id that the stream gave; empty before the first. */
  readonly id: string;
  readonly data: string;
}

/** Ends behind `longest` characters without an empty line. */
async function* linesOf(bytes: ReadableStream<Uint8Array>, longest: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = bytes.getReader();
  let eventChars = 0;
  let rest = "";
  let mayEnd = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const piece = done ? decoder.decode() : decoder.decode(value, { stream: true });
      // What ends with half a line end ends with all of it.
      rest += done && rest.endsWith("\r") ? "\n" : piece;
      // A long line comes in many pieces, and to look through it takes as long as it is.
      if (mayEnd || /[\r\n]/.test(piece)) {
        const lines = rest.split(LINE_END);
        rest = lines.pop() as string;
        for (const line of lines) {
          yield line;
          eventChars = line === "" ? 0 : eventChars + line.length;
        }
      }
      if (done || eventChars + rest.length > longest) return;
      // An empty piece, or a part of a character, changes nothing.
      if (piece !== "") mayEnd = piece.endsWith("\r");
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/**
 * Events as they arrive. An event without its final empty line is incomplete and is left out. One of more than about
 * `longest` characters ends the reading.
 */
export async function* eventsOf(
  bytes: ReadableStream<Uint8Array>,
  longest = Number.POSITIVE_INFINITY,
): AsyncGenerator<ServerSentEvent> {
  let event = "";
  let id = "";
  let data: string[] = [];
  for await (const line of linesOf(bytes, longest)) {
    if (line === "") {
      if (data.length > 0) yield { event: event === "" ? "message" : event, id, data: data.join("\n") };
      event = "";
      data = [];
      continue;
    }
    const { name, value } = fieldOf(line);
    if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id" && !value.includes("\u0000")) id = value;
  }
}
