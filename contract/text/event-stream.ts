// Parses server-sent events from an answer's bytes: fields, comments, and all kinds of line end (`event-text.ts`).

import { fieldOf, firstLineOf } from "./event-text.ts";

export interface ServerSentEvent {
  /** `message` if the stream gives no name. */
  readonly event: string;
  /** The last id that the stream gave; empty before the first. */
  readonly id: string;
  readonly data: string;
}

async function* linesOf(bytes: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = bytes.getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      for (let first = firstLineOf(rest); first !== null; first = firstLineOf(rest)) {
        yield first.line;
        rest = first.rest;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Events as they arrive. An event without its final empty line is incomplete and is left out. */
export async function* eventsOf(bytes: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  let event = "";
  let id = "";
  let data: string[] = [];
  for await (const line of linesOf(bytes)) {
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
