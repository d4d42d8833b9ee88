// A job's output while it is written, or at once if the job has ended by then.

import type { StreamOptions } from "../contract/client/jobs.ts";
import { type JobStreamEvent, streamEvents } from "../contract/client/stream-events.ts";
import type { Client } from "../contract/client.ts";
import { objectOf } from "../contract/text/json-object.ts";

/**
 * The output of an ordinary job that ended before its stream was opened, as its one chunk: a short job is done sooner
 * than a second request arrives. A client's request has events of its runtime, which nothing can make up.
 */
async function* wholeOutput(
  jobs: Client["jobs"],
  id: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<JobStreamEvent> {
  const { status, api, result } = await jobs.get(id, { signal });
  if (status !== "completed" || api !== null) return;
  const { text } = objectOf(result);
  const words = typeof result === "string" ? result : text;
  if (typeof words === "string") yield { type: "chunk", id: "", data: { text: words } };
}

export async function* streamJob(
  jobs: Client["jobs"],
  id: string,
  options: StreamOptions,
): AsyncGenerator<JobStreamEvent> {
  let hasChunk = options.lastEventId !== undefined;
  for await (const event of streamEvents(jobs, id, options)) {
    if (event.type === "end" && !hasChunk) yield* wholeOutput(jobs, id, options.signal);
    hasChunk ||= event.type === "chunk";
    yield event;
  }
}
