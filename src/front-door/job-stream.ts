// A job's stream for second readers: its chunks, numbered by lease, so that a reader can resume.

import * as z from "zod";
import { MAX_READERS_OF_A_STREAM } from "../../contract/data-line.ts";
import { jobIdParam } from "../../contract/fleet/worker.ts";
import { json } from "../../contract/words/field.ts";
import { GONE, OK, TOO_MANY_REQUESTS } from "../../contract/words/http-status.ts";
import { isFinal, isLeasedStatus } from "../../domain/words/job-status.ts";
import { invalid } from "../../domain/words/refusal.ts";
import type { Followed } from "../../durable-objects/operations/front-door/front-door.ts";
import { KEEP_ALIVE } from "../../durable-objects/relay/stream-reader.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import type { AppContext } from "../http/auth.ts";
import { headersFor } from "../http/headers.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { asks } from "../tenant/asks.ts";
import { holderOf, readRelay } from "../tenant/relay.ts";
import { followJob, watchMove } from "./follow-job.ts";
import { STREAM_HEADERS } from "./headers.ts";
import { writtenBody } from "./written-body.ts";

const KEEP_ALIVE_MS = 5_000;
const EVENT_ID = /^(\d{1,15})\.(\d{1,15})$/;

interface Place {
  readonly lease: number;
  readonly after: number;
}

const placeOf = (c: AppContext): Place | null => {
  const given = c.req.header("last-event-id");
  if (given === undefined || given === "") return null;
  const match = EVENT_ID.exec(given);
  if (match === null) throw new Refused(invalid("Last-Event-ID", "must be the id of a chunk, such as 1.42"));
  return { lease: Number(match[1]), after: Number(match[2]) };
};

const event = (type: "status" | "end", job: Followed): string => {
  const { status, worker, lease, error } = job;
  return `event: ${type}\ndata: ${JSON.stringify({ status, worker, lease, error })}\n\n`;
};

/** Its worker may send chunks; of any other job readers get only the states. */
export const isStreaming = ({ stream, status }: Followed): boolean => stream && isLeasedStatus(status);

const jobStream = endpoint(
  {
    ...asks("follow", "stream_gone", "too_many_readers", "history_unavailable"),
    method: "get",
    lane: "waiting",
    readsJob: true,
    path: "/api/jobs/{id}/stream",
    tag: "Jobs",
    summary: "Read a job's output while it is written",
    description:
      'Server-sent events: `chunk` (its data is the runtime\'s event, or `{"text"}`), `status`, `end`. `Last-Event-ID` resumes within the last 1 MiB; further back it is 410 and the job itself has the result. A stream has at most 16 readers beside the client that asked for it; the next is 429 `too_many_readers`. One that leaves 1 MiB unread is cut. A final job answers with `end` at once.',
    params: jobIdParam,
    headers: z.object({ "last-event-id": z.string().optional() }),
    answers: {
      200: { description: "The job's events, as server-sent events.", schema: json, media: ["text/event-stream"] },
    },
  },
  async (c, { params, token }) => {
    const place = placeOf(c);
    const job = unwrap(await followJob(c, token, params.id));
    const headers = headersFor(c.get("requestId"), STREAM_HEADERS);
    if (isFinal(job.status)) return new Response(event("end", job), { headers });
    const first = isStreaming(job) ? await chunksOf(c, token, job, place) : null;
    if (first?.status === GONE) throw new Refused({ code: "stream_gone" });
    if (first?.status === TOO_MANY_REQUESTS)
      throw new Refused({ code: "too_many_readers", limit: MAX_READERS_OF_A_STREAM });
    return new Response(follow(c, token, job, first, place), { headers });
  },
);

/** The chunks of the current attempt, after `place` if that belongs to the same attempt. */
export const chunksOf = (c: AppContext, token: TokenFacts, job: Followed, place: Place | null): Promise<Response> => {
  const after = place?.lease === job.lease ? place.after : 0;
  const wishes = { api: job.api, isNumbered: true, stripsUsage: false, keepAliveMs: KEEP_ALIVE_MS, after };
  return readRelay(c.env, token, job.worker ?? "", {
    jobId: job.id,
    lease: job.lease,
    holder: holderOf(token),
    wishes,
  });
};

const follow = (
  c: AppContext,
  token: TokenFacts,
  from: Followed,
  first: Response | null,
  place: Place | null,
): ReadableStream<Uint8Array> => {
  const body = writtenBody();
  const run = async (): Promise<void> => {
    let chunks = first;
    for (let job = from; ; ) {
      await body.write(event(isFinal(job.status) ? "end" : "status", job));
      if (isFinal(job.status)) return body.close();
      if (isStreaming(job)) {
        chunks ??= await chunksOf(c, token, job, place);
        // Its answer has begun: a reader too many, whose job has got its worker since, can only be cut.
        if (chunks.status === TOO_MANY_REQUESTS) throw new Error("the stream has too many readers");
        if (chunks.status === OK && chunks.body !== null)
          await body.pipe(chunks.body, { preventClose: true, preventAbort: true });
        chunks = null;
      }
      // The relay keeps its readers' connections alive; while the job waits, this does.
      const endComments = body.writeEvery(KEEP_ALIVE_MS, KEEP_ALIVE);
      job = await watchMove(c, token, job).finally(endComments);
    }
  };
  const cut = (error: unknown) => (c.env.HOME?.cut === undefined ? body.abort(error) : c.env.HOME.cut(c));
  c.executionCtx.waitUntil(
    run()
      .catch(cut)
      .catch(() => undefined),
  );
  return body.readable;
};

export const jobStreamRoutes: readonly Endpoint[] = [jobStream];
