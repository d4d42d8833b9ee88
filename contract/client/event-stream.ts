// Parses server-sent events from an answer's bytes, by the HTML standard: fields, comments, and all kinds of line end.

export interface ServerSentEvent {
  /** `message` if the stream gives no name. */
  readonly event: string;
  /** The last id that the stream gave; empty before the first. */
  readonly id: string;
  readonly data: string;
}

/** A carriage return at the end may be the first half of a line end, so the parser waits for more. */
const LINE_END = /\r\n|\n|\r(?!$)/;

async function* linesOf(bytes: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = bytes.getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      for (let end = LINE_END.exec(rest); end !== null; end = LINE_END.exec(rest)) {
        yield rest.slice(0, end.index);
        rest = rest.slice(end.index + end[0].length);
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
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") data.push(value);
    else if (field === "event") event = value;
    else if (field === "id" && !value.includes("\u0000")) id = value;
  }
}
