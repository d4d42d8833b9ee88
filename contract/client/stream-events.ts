// The events of a job's stream. A broken connection is opened again after the last event seen, so that no event is lost
// or repeated.

import type { Client } from "../client.ts";
import { eventsOf } from "../text/event-stream.ts";
import { jsonOrText } from "../text/json-object.ts";
import type { StreamOptions } from "./jobs.ts";
import { ApiProblem } from "./problem.ts";
import { pause } from "./transport.ts";
import { whileAway } from "./while-away.ts";

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
const OPEN_AGAIN_MS = 500;

const brokeOff = (id: string): ApiProblem =>
  new ApiProblem({
    status: 0,
    code: "unreachable",
    title: "The stream broke off",
    detail: `The stream of job ${id} broke off ${MAX_EMPTY_TRIES} times without an event: read the job itself.`,
  });

/** Goes on while the service is away. @throws ApiProblem if the stream is refused, or breaks off again and again. */
export async function* streamEvents(
  jobs: Pick<Client["jobs"], "stream">,
  id: string,
  { lastEventId, signal }: StreamOptions,
): AsyncGenerator<JobStreamEvent> {
  let after = lastEventId;
  for (let empty = 0; empty < MAX_EMPTY_TRIES; empty += 1) {
    const { body } = await whileAway(() => jobs.stream(id, { lastEventId: after, signal }), { signal });
    if (body === null) throw brokeOff(id);
    try {
      for await (const { event: type, id: eventId, data } of eventsOf(body)) {
        empty = 0;
        if (eventId !== "") after = eventId;
        yield { type, id: eventId, data: jsonOrText(data) };
        if (type === "end") return;
      }
    } catch {
      signal?.throwIfAborted();
    }
    await pause(OPEN_AGAIN_MS, signal);
  }
  throw brokeOff(id);
}
