// A job's stream for second readers: every state, and every chunk as it comes, numbered by lease, so that a reader can
// resume.

import * as z from "zod";
import { jobIdParam } from "../../contract/fleet/worker.ts";
import { json } from "../../contract/words/field.ts";
import { GONE, OK, TOO_MANY_REQUESTS } from "../../contract/words/http-status.ts";
import type { JobError } from "../../domain/job/job.ts";
import { isFinal } from "../../domain/words/job-status.ts";
import { invalid } from "../../domain/words/refusal.ts";
import { type Followed, gone } from "../../durable-objects/operations/front-door/follow.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { orArchived } from "../history/archive/archived-jobs.ts";
import type { ArchivedLine } from "../history/archive/part.ts";
import { answerBody } from "../http/answer.ts";
import type { AppContext } from "../http/auth.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { asks } from "../tenant/asks.ts";
import { followJob } from "./answer/follow-job.ts";
import { STREAM_HEADERS } from "./answer/headers.ts";
import { type ChunkPlace, chunksOf, firstChunks, isStreaming, statesOf } from "./answer/second-reader.ts";
import { writtenBody } from "./answer/written-body.ts";

const EVENT_ID = /^(\d{1,15})\.(\d{1,15})$/;

const placeOf = (c: AppContext): ChunkPlace | null => {
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

const jobStream = endpoint(
  {
    ...asks("follow", "stream_gone", "too_many_readers", "history_unavailable", "archive_damaged"),
    method: "get",
    lane: "waiting",
    readsJob: true,
    path: "/api/jobs/{id}/stream",
    tag: "Jobs",
    summary: "Read a job's output while it is written",
    description:
      'Server-sent events: `chunk` (its data is the runtime\'s event, or `{"text"}`), `status`, `end`. `Last-Event-ID` resumes within the last 1 MiB, until 15 s after the end; else it is 410: read the job. It has at most 16 readers beside the client; the next is 429 `too_many_readers`. One that leaves 1 MiB unread is cut. A final job answers with `end` at once, behind what was missed.',
    params: jobIdParam,
    headers: z.object({ "last-event-id": z.string().optional() }),
    answers: {
      200: { description: "The job's events, as server-sent events.", schema: json, media: ["text/event-stream"] },
    },
  },
  async (c, { params, token }) => {
    const place = placeOf(c);
    const following = followJob(c, token, params.id).then(unwrap);
    const found = await orArchived(c, token, params.id, following);
    const job = "line" in found ? endOf(found.line) : found.own;
    const first = await firstChunks(c, token, job, place);
    // The rest of a stream must not pass for the whole. Of a job that failed, the end says enough.
    if (first?.status === GONE && (job.status === "completed" || !isFinal(job.status)))
      throw new Refused({ code: "stream_gone" });
    return answerBody(c, follow(c, token, job, first, place), STREAM_HEADERS);
  },
);

/** All that an archived job's readers get. */
const endOf = (line: ArchivedLine): Followed => {
  const { status, assigned_worker: worker, error } = line;
  return { ...gone(line), status, worker, error: error as JobError | null };
};

const follow = (
  c: AppContext,
  token: TokenFacts,
  from: Followed,
  first: Response | null,
  place: ChunkPlace | null,
): ReadableStream<Uint8Array> => {
  const body = writtenBody();
  const run = async (): Promise<void> => {
    let chunks = first;
    // The relay keeps its readers' connections alive.
    const pass = async (answer: Response | null): Promise<void> => {
      if (answer?.status === OK && answer.body !== null)
        await body.pipe(answer.body, { preventClose: true, preventAbort: true });
    };
    if (isFinal(from.status)) await pass(first);
    for await (const job of statesOf(c, token, from, body)) {
      await body.write(event(isFinal(job.status) ? "end" : "status", job));
      if (!isStreaming(job)) continue;
      chunks ??= await chunksOf(c, token, job, place);
      // This answer began before the job had this worker, so a reader too many can only be cut, not refused.
      if (chunks.status === TOO_MANY_REQUESTS) throw new Error("the stream has too many readers");
      await pass(chunks);
      chunks = null;
    }
    await body.close();
  };
  const cut = (error: unknown) => {
    // Its reader may have left before anything was passed.
    first?.body?.cancel().catch(() => undefined);
    return c.env.HOME?.cut === undefined ? body.abort(error) : c.env.HOME.cut(c);
  };
  c.executionCtx.waitUntil(
    run()
      .catch(cut)
      .catch(() => undefined),
  );
  return body.readable;
};

export const jobStreamRoutes: readonly Endpoint[] = [jobStream];
