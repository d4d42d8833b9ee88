// Everything that can be asked of a tenant: who may ask, whether the killswitch stops it, and the verb that does it.

import type { Permission } from "../domain/key.ts";
import type { WriteKind } from "../domain/killswitch.ts";
import type { Refusal } from "../domain/refusal.ts";
import { ok, type Result } from "../domain/result.ts";
import { abandon } from "./operations/abandon.ts";
import * as budget from "./operations/budget.ts";
import * as config from "./operations/config.ts";
import * as explanation from "./operations/explain.ts";
import * as frontDoor from "./operations/front-door.ts";
import * as jobs from "./operations/jobs.ts";
import * as keys from "./operations/keys.ts";
import * as killswitch from "./operations/killswitch.ts";
import * as metrics from "./operations/metrics.ts";
import * as presence from "./operations/presence.ts";
import * as report from "./operations/report.ts";
import * as schedules from "./operations/schedules.ts";
import type { Turn } from "./operations/turn.ts";
import * as workers from "./operations/workers.ts";

interface Entry<Request, Answer> {
  readonly needs: Permission;
  /** What kind of write it is to the killswitch; reads are exempt. */
  readonly kind: WriteKind;
  readonly run: (turn: Turn, request: Request) => Result<Answer, Refusal>;
}

const entry =
  (needs: Permission, kind: WriteKind = "exempt") =>
  <Request, Answer>(run: (turn: Turn, request: Request) => Result<Answer, Refusal>): Entry<Request, Answer> => ({
    needs,
    kind,
    run,
  });

const read = entry("operate");
const work = entry("work");
const follow = entry("follow");

export const OPERATIONS = {
  // These two look for an earlier answer before the killswitch.
  createJob: entry("operate")(jobs.createOne),
  createJobs: entry("operate", "create")(jobs.createMany),
  dispatch: entry("operate")(jobs.dispatch),
  getJob: follow(jobs.getJob),
  presentOpenJobs: read(jobs.presentOpenJobs),
  patchJob: entry("operate", "other")(jobs.patch),
  cancelJob: entry("ask", "other")(jobs.cancel),
  retryJob: entry("operate", "other")(jobs.retry),
  explain: read(explanation.explainRouting),

  ask: entry("ask")(frontDoor.ask),
  follow: follow(frontDoor.follow),
  abandon: entry("ask")(abandon),
  nameModel: entry("ask")(frontDoor.nameModel),
  listModels: entry("ask")((turn: Turn, _request: null) => frontDoor.listModels(turn)),
  getModel: entry("ask")(frontDoor.getModel),

  reportPresence: work(presence.report),
  listPresent: work((turn: Turn, _request: null) => workers.listPresent(turn)),
  listWorkers: read(workers.listWorkers),
  getWorker: read(workers.getWorker),
  forgetWorker: entry("operate", "other")(workers.forgetWorker),
  pauseWorker: entry("operate", "other")(workers.pause),
  resumeWorker: entry("operate", "other")(workers.resume),

  claim: work(report.claim),
  startJob: work(report.presented(report.start)),
  heartbeatJob: work(report.presented(report.heartbeat)),
  completeJob: work(report.presented(report.complete)),
  failJob: work(report.presented(report.fail)),
  releaseJob: work(report.presented(report.release)),

  readKillswitch: read((turn: Turn, _request: null) => killswitch.read(turn)),
  activateKillswitch: read(killswitch.activate),
  clearKillswitch: read(budget.clearKillswitch),

  createSchedule: entry("operate", "other")(schedules.create),
  listSchedules: read(schedules.list),
  getSchedule: read(schedules.get),
  previewSchedule: read(schedules.preview),
  editSchedule: entry("operate", "other")(schedules.edit),
  deleteSchedule: entry("operate", "other")(schedules.remove),
  runSchedule: entry("operate", "create")(schedules.runNow),

  createKey: entry("administer")(keys.createKey),
  listKeys: entry("administer")((turn: Turn, _request: null) => keys.listKeys(turn)),
  patchKey: entry("administer")(keys.patchKey),
  rotateKey: entry("administer")(keys.rotate),
  revokeKey: entry("administer")(keys.revoke),
  createSession: work(keys.createSession),
  readSession: work(keys.readSession),
  endSession: work(keys.endSession),

  readConfig: work((turn: Turn, _request: null) => config.readConfig(turn)),
  replaceConfig: entry("administer", "other")(config.replaceConfig),

  readBudget: read((turn: Turn, _request: null) => budget.readBudget(turn)),
  readMetrics: read((turn: Turn, _request: null) => metrics.readMetrics(turn)),

  /** Only whether the key may do it: for reads of history and writes to D1. */
  authorizeWork: work((turn: Turn, _request: null) => ok({ ...turn.caller })),
  authorizeRead: read((turn: Turn, _request: null) => ok({ ...turn.caller })),
  authorizeAsk: entry("ask")((turn: Turn, _request: null) => ok({ ...turn.caller })),
  authorizeFollow: follow((turn: Turn, _request: null) => ok({ ...turn.caller })),
  authorizeAdmin: entry("administer")((turn: Turn, _request: null) => ok({ ...turn.caller })),
  authorizeAdminWrite: entry("administer", "other")((turn: Turn, _request: null) => ok({ ...turn.caller })),
} as const;

export type OperationName = keyof typeof OPERATIONS;
export type RequestOf<Name extends OperationName> = Parameters<(typeof OPERATIONS)[Name]["run"]>[1];
export type AnswerOf<Name extends OperationName> =
  ReturnType<(typeof OPERATIONS)[Name]["run"]> extends Result<infer Answer, Refusal> ? Answer : never;
