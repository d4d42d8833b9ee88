// A worker's socket messages as operations: parsed by the contract's schema, each answered by an `ack` with its id.

import { toTaskError, toTaskProgress } from "../../contract/fleet/model-task.ts";
import { toPresence } from "../../contract/fleet/worker.ts";
import { resultElsewhere, toReportedFailure, toSpent } from "../../contract/jobs/report.ts";
import { presentRefusal } from "../../contract/refusal.ts";
import {
  type CoordinatorMessage,
  type JobReport,
  MAX_FRAME_MESSAGES,
  type ModelTaskReport,
  type WorkerMessage,
  workerMessage,
} from "../../contract/socket.ts";
import { hasTooLarge, holdsTooLarge, TOO_LARGE_A_NUMBER } from "../../contract/text/exact-json.ts";
import { lineOf } from "../../contract/text/start-of.ts";
import { MAX_BODY_BYTES, MAX_RESULT_BYTES, utf8Bytes } from "../../contract/words/field.ts";
import { jsonExcess } from "../../contract/words/json-bounds.ts";
import { refusalOf } from "../../contract/words/validation.ts";
import type { Brought } from "../../domain/job/archived-job.ts";
import { shapeKeeper } from "../../domain/words/kept-shape.ts";
import { invalid, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { Absent } from "../history/archive.ts";
import * as finalReport from "../operations/fleet/final-report.ts";
import * as tasks from "../operations/fleet/model-tasks.ts";
import * as presence from "../operations/fleet/presence.ts";
import * as report from "../operations/fleet/report.ts";
import { taskMessages } from "../steps/model-tasks.ts";
import * as outcomes from "../steps/outcomes.ts";
import { awaitSilence } from "../steps/silence.ts";
import type { Turn } from "../turn/turn.ts";

const MAX_BYTES_A_CHAR = 3;
const MAX_TRIAL_CHARS = 300;

export interface Incoming {
  /** Null if the message has no valid id. */
  readonly id: string | null;
  readonly message: Result<WorkerMessage, Refusal>;
}

/** The messages of a frame; a malformed frame is refused as a whole. */
export const parseFrame = (frame: string): Result<Incoming[], Refusal> => {
  const excess = jsonExcess(frame);
  if (excess !== null) return err(invalid("", `a frame ${excess}`));
  let parsed: unknown;
  try {
    parsed = JSON.parse(frame);
  } catch {
    return err(invalid("", "a frame must be JSON: one message or an array of messages"));
  }
  const messages = Array.isArray(parsed) ? parsed : [parsed];
  if (messages.length > MAX_FRAME_MESSAGES) {
    return err(invalid("", `a frame must have at most ${MAX_FRAME_MESSAGES} messages`));
  }
  const isLarge = frame.length * MAX_BYTES_A_CHAR > MAX_BODY_BYTES;
  const hasNulls = hasTooLarge(frame, parsed);
  return ok(
    messages.map((message) => {
      if (isLarge && isTooLarge(message))
        return refused(message, { code: "payload_too_large", limitBytes: MAX_BODY_BYTES });
      if (hasNulls && holdsTooLarge(message)) return refused(message, invalid("", `a message ${TOO_LARGE_A_NUMBER}`));
      return parseMessage(message);
    }),
  );
};

/** A message has the size limit of a body, except for its result, which has its own limit. */
const isTooLarge = (candidate: unknown): boolean => {
  const { result, ...rest } = (candidate ?? {}) as Record<string, unknown>;
  return bytesOf(result) > MAX_RESULT_BYTES || bytesOf(rest) > MAX_BODY_BYTES;
};

const bytesOf = (value: unknown): number => utf8Bytes(JSON.stringify(value ?? null));

const refused = (candidate: unknown, refusal: Refusal): Incoming => ({ id: idOf(candidate), message: err(refusal) });

const keepShape = shapeKeeper<WorkerMessage>();

const parseMessage = (candidate: unknown): Incoming => {
  const parsed = workerMessage.safeParse(candidate);
  if (parsed.success) return { id: parsed.data.id, message: ok(keepShape(parsed.data)) };
  return refused(candidate, refusalOf(workerMessage, parsed.error, candidate));
};

const idOf = (candidate: unknown): string | null => {
  const id = typeof candidate === "object" && candidate !== null && "id" in candidate ? candidate.id : null;
  return typeof id === "string" || typeof id === "number" ? String(id) : null;
};

/** The first message to a worker: the answer to a presence report, as far as it is known, and its leases. */
export const welcome = (turn: Turn, instance: string): CoordinatorMessage[] => {
  const { fleet } = turn.memory;
  const member = fleet.get(instance);
  if (member === undefined) return [{ type: "welcome", ...presence.greeting(turn) }];
  fleet.noteReach(instance, { isConnected: true });
  fleet.noteSeen(instance, turn.nowAt);
  awaitSilence(turn, instance);
  // Leases that expired while it was disconnected are not its fault.
  turn.putWorker({ ...member.worker, viaSocket: true, keyId: turn.caller.keyId, expiredLeases: 0 });
  turn.freedWorkers.add(instance);
  const answer = presence.presenceAnswer(turn, member, []);
  const leases = answer.jobs.map((job) => ({ type: "job.assigned" as const, job }));
  return [{ type: "welcome", ...answer }, ...leases, ...taskMessages(turn, instance)];
};

/** A job that the object does not have, but history may. */
export const absentJobOf = (done: Result<unknown, Refusal>): Absent | null => {
  if (done.ok || done.error.code !== "not_found" || done.error.absentAt === undefined) return null;
  return { id: done.error.id, absentAt: done.error.absentAt };
};

/** Handles one message for the socket's worker; `archived` is its job if that has left the object. */
export const handleMessage = (
  turn: Turn,
  instance: string,
  message: WorkerMessage,
  archived: Brought | null = null,
): Result<Partial<CoordinatorMessage>, Refusal> => {
  if (message.type === "presence") {
    if (message.instance !== instance) {
      return err(invalid("instance", `this socket belongs to "${instance}"`));
    }
    const { type: _type, id: _id, ...body } = message;
    return presence.report(turn, { ...toPresence(body), viaSocket: true });
  }
  if (message.type === "runtime.tried") {
    const done = outcomes.noteTried(turn, instance, whatFailed(message));
    return done.ok ? ok(NOTHING_MORE) : done;
  }
  const done = "task_id" in message ? reportOnTask(turn, message) : reportOn(turn, message, archived);
  return done.ok ? ok(NOTHING_MORE) : done;
};

/** What the answer to a report has beside its id. */
const NOTHING_MORE = {};

const reportOnTask = (turn: Turn, message: ModelTaskReport): Result<unknown, Refusal> =>
  message.type === "model.progress"
    ? tasks.progress(turn, { id: message.task_id, progress: toTaskProgress(message) })
    : tasks.done(turn, { id: message.task_id, error: toTaskError(message) });

/** Null if its runtime works. */
const whatFailed = ({ ok: works, error }: Extract<WorkerMessage, { type: "runtime.tried" }>): string | null => {
  if (works) return null;
  return lineOf((typeof error === "string" ? error : error?.message) ?? "no reason given", MAX_TRIAL_CHARS);
};

/** By name, because most reports are one. */
const toCompletion = (message: Extract<JobReport, { type: "job.completed" }>, archived: Brought | undefined) => {
  const { usage, isEstimate, costUsd, model, firstTokenMs } = toSpent(message);
  const { resultFile, streamedBytes } = resultElsewhere(message);
  return {
    id: message.job_id,
    lease: message.lease,
    archived,
    result: message.result ?? null,
    resultFile,
    streamedBytes,
    usage,
    isEstimate,
    costUsd,
    model,
    firstTokenMs,
  };
};

const reportOn = (turn: Turn, message: JobReport, archived: Brought | null): Result<unknown, Refusal> => {
  const held = { id: message.job_id, lease: message.lease, archived: archived ?? undefined };
  switch (message.type) {
    case "job.started":
      return report.start(turn, held);
    case "job.streaming":
      return report.reportFirstToken(turn, held);
    case "job.heartbeat":
      return report.heartbeat(turn, { ...held, progress: message.progress });
    case "job.completed":
      return finalReport.complete(turn, toCompletion(message, held.archived));
    case "job.failed":
      return finalReport.fail(turn, { ...held, ...toReportedFailure(message.error), ...toSpent(message) });
    case "job.released":
      return report.release(turn, { ...held, reason: message.reason });
    case "job.spent":
      return finalReport.spent(turn, { ...held, ...toSpent({ ...message, model: null }) });
  }
};

export const acknowledge = (
  id: string | null,
  done: Result<Partial<CoordinatorMessage>, Refusal>,
): CoordinatorMessage => {
  if (!done.ok) return { type: "ack", id: id ?? "", ok: false, problem: presentRefusal(done.error, id ?? "") };
  const ack: CoordinatorMessage = { type: "ack", id: id ?? "", ok: true };
  return done.value === NOTHING_MORE ? ack : { ...done.value, ...ack };
};
