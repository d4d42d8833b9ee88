// A job's output while it is written. A broken connection is reopened after the last event seen, so no event is lost or
// repeated.

import { ApiProblem } from "../contract/client/problem.ts";
import { whileAway } from "../contract/client/while-away.ts";
import type { Client } from "../contract/client.ts";
import { eventsOf } from "../contract/text/event-stream.ts";
import { jsonOrText, objectOf } from "../contract/text/json-object.ts";

export interface JobStreamEvent {
  /** `chunk`: part of the output; `status`: the job's status changed; `end`: the last event. */
  readonly type: "chunk" | "status" | "end" | (string & {});
  /** `<lease>.<n>` of a chunk; pass it to resume after that chunk. */
  readonly id: string;
  /** Parsed if it is JSON, else the text: a runtime's events pass through unchanged. */
  readonly data: unknown;
}

/** Broken connections in a row without an event. */
const MAX_EMPTY_TRIES = 3;
const PAUSE_MS = 500;

const brokeOff = (id: string): ApiProblem =>
  new ApiProblem({
    status: 0,
    code: "unreachable",
    title: "The stream broke off",
    detail: `The stream of job ${id} broke off ${MAX_EMPTY_TRIES} times without an event: read the job itself.`,
  });

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
  { lastEventId, signal }: { lastEventId?: string | undefined; signal?: AbortSignal | undefined } = {},
): AsyncGenerator<JobStreamEvent> {
  let after = lastEventId;
  let hasChunk = after !== undefined;
  for (let empty = 0; empty < MAX_EMPTY_TRIES; empty += 1) {
    const response = await whileAway(() => jobs.stream(id, { lastEventId: after, signal }), { signal });
    if (response.body === null) throw brokeOff(id);
    try {
      for await (const event of eventsOf(response.body)) {
        empty = 0;
        if (event.id !== "") after = event.id;
        if (event.event === "end" && !hasChunk) yield* wholeOutput(jobs, id, signal);
        hasChunk ||= event.event === "chunk";
        yield { type: event.event, id: event.id, data: jsonOrText(event.data) };
        if (event.event === "end") return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof ApiProblem) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    signal?.throwIfAborted();
  }
  throw brokeOff(id);
}
