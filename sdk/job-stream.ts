// What a job writes while it writes it. A connection that breaks is opened again after the last event that was seen, so
// that none is missed and none comes twice.

import { ApiProblem } from "../contract/client/problem.ts";
import type { Client } from "../contract/client.ts";
import { eventsOf } from "./event-stream.ts";

export interface JobStreamEvent {
  /** `chunk`: a piece of the answer; `status`: the job moved on; `end`: the last event. */
  readonly type: "chunk" | "status" | "end" | (string & {});
  /** `<lease>.<n>` of a chunk; resumes after it. */
  readonly id: string;
  /** JSON where it is JSON, else the text itself: a runtime's events pass through unchanged. */
  readonly data: unknown;
}

/** Broken connections in a row that brought no event. */
const MAX_EMPTY_TRIES = 3;
const PAUSE_MS = 500;

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

const brokeOff = (id: string): ApiProblem =>
  new ApiProblem({
    status: 0,
    code: "unreachable",
    title: "The stream broke off",
    detail: `The stream of job ${id} broke off ${MAX_EMPTY_TRIES} times without an event: read the job itself.`,
  });

export async function* streamJob(
  jobs: Client["jobs"],
  id: string,
  { lastEventId, signal }: { lastEventId?: string | undefined; signal?: AbortSignal | undefined } = {},
): AsyncGenerator<JobStreamEvent> {
  let after = lastEventId;
  for (let empty = 0; empty < MAX_EMPTY_TRIES; empty += 1) {
    const response = await jobs.stream(id, { lastEventId: after, signal });
    if (response.body === null) throw brokeOff(id);
    try {
      for await (const event of eventsOf(response.body)) {
        empty = 0;
        if (event.id !== "") after = event.id;
        yield { type: event.event, id: event.id, data: parsed(event.data) };
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
