// All periodic tasks of a tenant. The alarm runs this timetable: each row says when it is due next and does a bounded
// amount of work. Running it twice, early or late does no harm.

import { isCutOff } from "../../domain/fleet/fleet.ts";
import { stillMissing } from "../../domain/fleet/model-name.ts";
import type { Worker } from "../../domain/fleet/worker.ts";
import { DAY_MS } from "../../domain/words/duration.ts";
import { earliest } from "../../domain/words/earliest.ts";
import { endGraces } from "../operations/access/keys.ts";
import { suspendKeys } from "../operations/access/people.ts";
import { endFiles } from "../operations/files/files.ts";
import { askEdgesAgain, forgetLeftOver, nextEdgeAskAt, nextLeftOverAt } from "../operations/fleet/edge-workers.ts";
import { forgetAbsent, lookAgain, nextForgetAt, nextLookAt } from "../operations/fleet/watch.ts";
import { openOrClose } from "../operations/fleet/workers.ts";
import { endResponses } from "../operations/front-door/responses.ts";
import { loseWaitedFor, SOCKET_GRACE_MS } from "../operations/halts/abandon.ts";
import { enforceBudget, nextBudgetAt } from "../operations/halts/budget.ts";
import { estimateUnreported, nextEstimateAt } from "../operations/halts/late-spending.ts";
import { nextScheduleAt, runDue } from "../operations/schedules.ts";
import { lookForFallbacks } from "../placing/assign-waiting.ts";
import { nextStorageNoteAt, noteStorage } from "../placing/storage-use.ts";
import {
  giveUpDeliveries,
  nextDeliveryAt,
  nextGiveUpAt,
  nextRemovalAt,
  removeOldDeliveries,
  takeDeliveries,
} from "../steps/deliveries.ts";
import { announceIdle } from "../steps/idle-workers.ts";
import { endTrials } from "../steps/outcomes.ts";
import { announceSilence, nextSilenceAt } from "../steps/silence.ts";
import { nextWantedAt } from "../steps/wanted.ts";
import { nextIdleAt } from "../turn/idleness.ts";
import type { Turn } from "../turn/turn.ts";
import { UNREPORTED_KEPT_MS } from "../turn/uncounted.ts";
import { lookAtBatches, nextBatchAt } from "./batch-look.ts";
import { announceWanted } from "./capacity.ts";
import { attendDueJobs } from "./due-jobs.ts";

const EXPIRED_ROWS_A_SWEEP = 1000;
const KEPT_SPENDING_MS = 62 * DAY_MS;

interface Row {
  readonly what: string;
  /** When this row is due, epoch ms; null for never. */
  readonly dueAt: (turn: Turn) => number | null;
  readonly run: (turn: Turn) => void;
}

/** The earliest instant that a worker has. */
const firstOf =
  (instantOf: (worker: Worker) => number | null | undefined) =>
  ({ memory }: Turn): number | null =>
    earliest([...memory.fleet.timed()].map(({ worker }) => instantOf(worker) ?? null));

const TIMETABLE: readonly Row[] = [
  {
    what: "schedules create the jobs that are due",
    dueAt: nextScheduleAt,
    run: runDue,
  },
  {
    // Before final jobs leave: a job says which batch it is of.
    what: "streams that were cut, and that nobody has reported on, are estimated",
    dueAt: nextEstimateAt,
    run: estimateUnreported,
  },
  {
    what: "jobs become ready, leases expire, stale jobs are reaped, long ones time out, final ones leave",
    dueAt: (turn) => turn.store.jobs.nextDueAt(),
    run: attendDueJobs,
  },
  {
    what: "jobs that stay open move from the journal to the tables",
    dueAt: ({ store, memory }) => store.jobs.nextMoveAt(memory.outbox.drainedSeq),
    run: (turn) => {
      const { store, memory, nowAt } = turn;
      if (!store.jobs.settle(memory.outbox.drainedSeq, nowAt)) return;
      store.outbox.removeUpTo(memory.outbox.drainedSeq);
      if (store.jobs.unshelve(store.outbox.goneSeq(), nowAt)) turn.due(nowAt);
    },
  },
  {
    what: "providers end their back-off",
    dueAt: (turn) => turn.store.backoffs.nextEndAt(),
    run: (turn) => {
      for (const [provider, untilAt] of turn.memory.backoffs) {
        if (untilAt <= turn.nowAt) turn.memory.backoffs.delete(provider);
      }
      turn.store.backoffs.removeEnded(turn.nowAt);
      turn.isAllOpened = true;
    },
  },
  {
    what: "pauses end",
    dueAt: firstOf(({ pause }) => pause?.untilAt),
    run: (turn) => {
      for (const { worker } of [...turn.memory.fleet.timed()]) {
        if (worker.pause?.untilAt == null || worker.pause.untilAt > turn.nowAt) continue;
        turn.putWorker({ ...worker, pause: null });
        turn.freedWorkers.add(worker.instance);
        turn.send(worker.instance, { type: "worker.resumed" });
      }
    },
  },
  {
    what: "workers open and close by their hours",
    dueAt: firstOf(({ opening }) => opening?.changesAt),
    run: (turn) => {
      for (const { worker } of [...turn.memory.fleet.timed()]) {
        const { opening } = worker;
        if (opening?.changesAt != null && opening.changesAt <= turn.nowAt) openOrClose(turn, worker, opening);
      }
    },
  },
  {
    what: "runtimes are asked again for models that they did not have",
    dueAt: firstOf(({ missingModels }) => earliest(missingModels.map(({ untilAt }) => untilAt))),
    run: (turn) => {
      for (const { worker } of [...turn.memory.fleet.timed()]) {
        const missingModels = stillMissing(worker.missingModels, turn.nowAt);
        if (missingModels.length === worker.missingModels.length) continue;
        turn.putWorker({ ...worker, missingModels });
        turn.freedWorkers.add(worker.instance);
      }
    },
  },
  {
    what: "workers that do not answer whether their runtime works are judged without",
    dueAt: firstOf(({ trial }) => trial?.untilAt),
    run: endTrials,
  },
  {
    what: "front-door jobs leave a worker whose socket is gone",
    dueAt: (turn) => earliest([...turn.memory.sockets.goneAt.values()].map((at) => at + SOCKET_GRACE_MS)),
    run: (turn) => {
      for (const [instance, at] of turn.memory.sockets.goneAt) {
        if (at + SOCKET_GRACE_MS > turn.nowAt) continue;
        turn.memory.sockets.goneAt.delete(instance);
        const member = turn.memory.fleet.get(instance);
        if (member !== undefined && isCutOff(member)) loseWaitedFor(turn, instance);
      }
    },
  },
  {
    what: "waiting jobs are checked again where only time may have brought them a worker",
    dueAt: nextLookAt,
    run: lookAgain,
  },
  {
    what: "jobs that have waited long enough go to a fallback of the coordinator",
    dueAt: ({ memory: { queue, edge } }) => (queue.count === 0 || !Number.isFinite(edge.lookAt) ? null : edge.lookAt),
    run: lookForFallbacks,
  },
  {
    what: "providers that the coordinator cannot call are asked about again",
    dueAt: nextEdgeAskAt,
    run: askEdgesAgain,
  },
  {
    what: "workers of the coordinator that are too many go after their last call",
    dueAt: nextLeftOverAt,
    run: forgetLeftOver,
  },
  {
    what: "workers that stay offline are forgotten",
    dueAt: nextForgetAt,
    run: forgetAbsent,
  },
  {
    what: "a reached budget ends with its day or month, or is reached again",
    dueAt: nextBudgetAt,
    run: enforceBudget,
  },
  {
    what: "a place of storage that fills up is noted",
    dueAt: nextStorageNoteAt,
    run: noteStorage,
  },
  {
    what: "webhooks are told of workers that fall silent",
    dueAt: nextSilenceAt,
    run: announceSilence,
  },
  {
    what: "webhooks are told of jobs that wait for capacity",
    dueAt: nextWantedAt,
    run: announceWanted,
  },
  {
    what: "webhooks are told of workers without work",
    dueAt: nextIdleAt,
    run: announceIdle,
  },
  {
    what: "webhook deliveries are tried",
    dueAt: nextDeliveryAt,
    run: takeDeliveries,
  },
  {
    what: "deliveries that wait for a webhook that fails are given up",
    dueAt: nextGiveUpAt,
    run: giveUpDeliveries,
  },
  {
    what: "old deliveries are deleted",
    dueAt: nextRemovalAt,
    run: removeOldDeliveries,
  },
  {
    what: "files past their end are deleted",
    dueAt: (turn) => turn.store.files.nextEndAt(),
    run: endFiles,
  },
  {
    what: "stored responses past their end are deleted",
    dueAt: (turn) => turn.store.responses.nextEndAt(),
    run: endResponses,
  },
  {
    what: "batches go on, end in time, and are forgotten",
    dueAt: nextBatchAt,
    run: lookAtBatches,
  },
  {
    what: "rotated keys end their grace",
    dueAt: (turn) => turn.store.keys.nextGraceEndAt(),
    run: endGraces,
  },
  {
    what: "idempotency keys expire",
    dueAt: (turn) => turn.store.idempotency.nextExpiryAt(),
    run: (turn) => turn.store.idempotency.removeExpired(turn.nowAt, EXPIRED_ROWS_A_SWEEP),
  },
  {
    what: "leases that never reported their cost are forgotten",
    dueAt: (turn) => {
      const oldestAt = turn.store.unreported.oldestEndedAt();
      return oldestAt === null ? null : oldestAt + UNREPORTED_KEPT_MS;
    },
    run: (turn) => turn.store.unreported.removeBefore(turn.nowAt - UNREPORTED_KEPT_MS, EXPIRED_ROWS_A_SWEEP),
  },
  {
    what: "dashboard sessions expire",
    dueAt: (turn) => turn.store.sessions.nextExpiryAt(),
    run: (turn) => {
      for (const id of turn.store.sessions.removeExpired(turn.nowAt)) turn.effects.endedSessions.add(id);
    },
  },
  {
    what: "people's sessions expire",
    dueAt: (turn) => turn.store.personSessions.nextExpiryAt(),
    run: (turn) => {
      for (const id of turn.store.personSessions.removeExpired(turn.nowAt)) turn.effects.endedSessions.add(id);
    },
  },
  { what: "personal keys are suspended", dueAt: (turn) => turn.store.people.nextKeysEndAt(), run: suspendKeys },
  {
    what: "grants of keys expire",
    dueAt: (turn) => turn.store.keyGrants.nextExpiryAt(),
    run: (turn) => turn.store.keyGrants.removeExpired(turn.nowAt),
  },
  {
    what: "old sums of spending are deleted",
    dueAt: (turn) => {
      const oldestAt = earliest([turn.store.spending.oldestDayAt(), turn.store.keyUse.oldestDayAt()]);
      return oldestAt === null ? null : oldestAt + KEPT_SPENDING_MS + 1;
    },
    run: (turn) => {
      turn.store.keyUse.removeBefore(turn.nowAt - KEPT_SPENDING_MS);
      turn.store.spending.removeBefore(turn.nowAt - KEPT_SPENDING_MS);
    },
  },
];

/** A due row. Each is a turn of its own, so a failing row does not block the others. */
type Sweep = Pick<Row, "what" | "run">;

/** What is due now, and the earliest instant at which any row is due; null if none ever is. */
export const readTimetable = (turn: Turn): { due: Sweep[]; nextAt: number | null } => {
  const instants = TIMETABLE.map((row) => row.dueAt(turn));
  const due = TIMETABLE.filter((_, index) => (instants[index] ?? Number.POSITIVE_INFINITY) <= turn.nowAt);
  return { due, nextAt: earliest(instants) };
};

export const nextWakeAt = (turn: Turn): number | null => readTimetable(turn).nextAt;
