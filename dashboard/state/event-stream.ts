// Reads server-sent events from a fetch: each whole event's name and data, in order.

export interface StreamEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string | null;
}

const eventOf = (block: string): StreamEvent | null => {
  let event = "message";
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split(/\r\n|\r|\n/)) {
    const [, field, value] = /^([a-z]+):? ?(.*)$/.exec(line) ?? [];
    if (field === "event") event = value ?? event;
    else if (field === "data") data.push(value ?? "");
    else if (field === "id") id = value ?? null;
  }
  return data.length === 0 && event === "message" ? null : { event, data: data.join("\n"), id };
};

const BOUNDARY = /\r\n\r\n|\n\n|\r\r/;

export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>)
    .getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const blocks = (rest + (value ?? "")).split(BOUNDARY);
      rest = done ? "" : (blocks.pop() ?? "");
      for (const block of blocks) {
        const event = eventOf(block);
        if (event !== null) yield event;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** An event's data as JSON; null if it is not JSON, such as `[DONE]`. */
export const jsonOf = (data: string): unknown => {
  try {
    return JSON.parse(data);
  } catch {
    return null;
  }
};
