// Every operation of a tenant. A row states who may call it, what the killswitch does to it, whether the edge may
// repeat it, what it refuses, and the function that does it.

import type { Permission } from "../domain/access/key.ts";
import type { WriteKind } from "../domain/killswitch.ts";
import type { Refusal, RefusalCode } from "../domain/words/refusal.ts";
import { ok, type Result } from "../domain/words/result.ts";
import * as grants from "./operations/access/key-grants.ts";
import * as keys from "./operations/access/keys.ts";
import * as people from "./operations/access/people.ts";
import * as providerKeys from "./operations/access/provider-keys.ts";
import * as sessions from "./operations/access/sessions.ts";
import * as signIn from "./operations/access/sign-in.ts";
import * as config from "./operations/config.ts";
import * as batches from "./operations/files/batches.ts";
import * as files from "./operations/files/files.ts";
import * as claims from "./operations/fleet/claims.ts";
import * as finalReport from "./operations/fleet/final-report.ts";
import * as modelTasks from "./operations/fleet/model-tasks.ts";
import * as outputs from "./operations/fleet/outputs.ts";
import { placeModel, readPlaces } from "./operations/fleet/place-model.ts";
import * as presence from "./operations/fleet/presence.ts";
import * as report from "./operations/fleet/report.ts";
import * as workers from "./operations/fleet/workers.ts";
import * as asking from "./operations/front-door/ask.ts";
import * as models from "./operations/front-door/door-models.ts";
import { follow } from "./operations/front-door/follow.ts";
import * as responses from "./operations/front-door/responses.ts";
import { abandon } from "./operations/halts/abandon.ts";
import * as budget from "./operations/halts/budget.ts";
import { clearKillswitch } from "./operations/halts/clear-killswitch.ts";
import * as killswitch from "./operations/halts/killswitch.ts";
import * as activity from "./operations/insight/activity.ts";
import * as latency from "./operations/insight/latency.ts";
import * as metrics from "./operations/insight/metrics.ts";
import * as bulk from "./operations/jobs/bulk.ts";
import * as explanation from "./operations/jobs/explain.ts";
import * as jobs from "./operations/jobs/jobs.ts";
import * as queue from "./operations/jobs/queue.ts";
import * as schedules from "./operations/schedules.ts";
import * as webhooks from "./operations/webhooks.ts";
import type { Turn } from "./turn/turn.ts";

/** The rules of an operation. A row without one of them does not compile. */
interface Rules {
  readonly needs: Permission;
  /** The kind of write, for the killswitch; reads are exempt. */
  readonly kind: WriteKind;
  /** The function checks the killswitch itself, after it has looked for an earlier answer to the same request. */
  readonly isPermittedByVerb?: true;
  /** Repeating it changes nothing and gives the same answer: the edge repeats it after a lost answer. */
  readonly isRepeatable: boolean;
  /** It adds data: refused while the disk is full, so that work can still be finished. */
  readonly needsRoom: boolean;
  /** Whether a request leaves the tenant less to store: a full tenant takes that one. */
  readonly makesRoom?: (turn: Turn, request: never) => boolean;
  /**
   * It stops or finishes work: it is handled before the tenant's other calls, and bulk traffic cannot use up its share.
   */
  readonly isVital?: true;
  /** People in a session may call it, too; the function keeps them to what is their own. */
  readonly isForPeople?: true;
  /** Its own refusals, beyond those that any operation of its kind can give. */
  readonly refuses: readonly RefusalCode[];
}

type Verb<Request, Answer> = (turn: Turn, request: Request) => Result<Answer, Refusal>;

const operation = <const R extends Rules, Request, Answer>(
  rules: R,
  run: Verb<Request, Answer>,
): R & { run: Verb<Request, Answer> } => ({ ...rules, run });

/** The verb of an operation that needs nothing but the turn. */
const alone =
  <Answer>(verb: (turn: Turn) => Result<Answer, Refusal>) =>
  (turn: Turn, _request: null) =>
    verb(turn);

const readCaller = alone((turn) => ok({ ...turn.caller }));

const ONCE = { isRepeatable: false } as const;
const READ = {
  needs: "observe",
  kind: "exempt",
  isRepeatable: true,
  needsRoom: false,
  refuses: [],
} as const satisfies Rules;
const OPERATE = { ...READ, needs: "operate" } as const satisfies Rules;
const WRITE = { ...OPERATE, kind: "other" } as const satisfies Rules;
const GROW = { needsRoom: true } as const;
const WORK = { ...READ, needs: "work" } as const satisfies Rules;
const CONSULT = { ...READ, needs: "consult" } as const satisfies Rules;
const ASK = { ...READ, needs: "ask" } as const satisfies Rules;
const ASK_WRITE = { ...ASK, kind: "other" } as const satisfies Rules;
const REVIEW = { ...READ, needs: "review" } as const satisfies Rules;
const FOLLOW = { ...READ, needs: "follow" } as const satisfies Rules;
const ADMIN = { ...READ, needs: "administer" } as const satisfies Rules;
const ADMIN_WRITE = { ...ADMIN, kind: "other" } as const satisfies Rules;
/** A person in a session may do it to what is the person's own, whatever the role. */
const PEOPLE = { isForPeople: true } as const;
const ONE = { refuses: ["not_found"] } as const;
const VITAL = { isVital: true } as const;
const REPORT = { ...WORK, ...VITAL, refuses: ["not_found", "lease_lost"] } as const satisfies Rules;
const TASK_REPORT = { ...WORK, refuses: ["not_found", "task_over", "instance_taken"] } as const satisfies Rules;
const COMPLETION = { ...REPORT, refuses: [...REPORT.refuses, "result_file_unknown"] } as const satisfies Rules;
const NEW_JOB = { ...OPERATE, ...ONCE, ...GROW, kind: "create", isPermittedByVerb: true } as const satisfies Rules;
/** By the limits of the caller's key. */
const LIMIT_REFUSALS = ["rate_limit_exceeded", "insufficient_quota"] as const satisfies readonly RefusalCode[];
const CREATION_REFUSALS = ["idempotency_key_reused", "history_backlog", "too_many_groups", ...LIMIT_REFUSALS] as const;

export const OPERATIONS = {
  createJob: operation({ ...NEW_JOB, refuses: CREATION_REFUSALS }, jobs.createOne),
  createJobs: operation({ ...NEW_JOB, refuses: CREATION_REFUSALS }, jobs.createMany),
  dispatch: operation(
    { ...NEW_JOB, refuses: [...CREATION_REFUSALS, "no_eligible_workers", "budget_reached"] },
    jobs.dispatch,
  ),
  mayGrow: operation({ ...OPERATE, ...GROW }, killswitch.mayGrow),
  getJob: operation({ ...FOLLOW, ...ONE }, jobs.getJob),
  presentOpenJobs: operation(READ, jobs.presentOpenJobs),
  patchJob: operation(
    { ...WRITE, refuses: ["not_found", "job_completed", "too_many_groups", "history_unavailable"] },
    jobs.patch,
  ),
  cancelJob: operation(
    { ...ASK, ...ONCE, kind: "other", refuses: ["not_found", "job_state", "history_unavailable"] },
    jobs.cancel,
  ),
  retryJob: operation(
    {
      ...WRITE,
      ...ONCE,
      refuses: ["not_found", "job_state", "texts_gone", "too_many_groups", "history_unavailable", ...LIMIT_REFUSALS],
    },
    jobs.retry,
  ),
  /** One portion of a bulk change; `finishBulk` records the result of all portions. */
  changeJobs: operation({ ...WRITE, ...ONCE }, bulk.changeJobs),
  recallBulk: operation({ ...OPERATE, refuses: ["idempotency_key_reused"] }, bulk.recallBulk),
  finishBulk: operation({ ...OPERATE, refuses: ["idempotency_key_reused"] }, bulk.finishBulk),
  readQueue: operation(
    READ,
    alone((turn) => ok(queue.queueView(turn))),
  ),
  explain: operation({ ...READ, refuses: ["not_found", "job_state"] }, explanation.explainRouting),

  ask: operation(
    {
      ...ASK,
      ...ONCE,
      ...GROW,
      kind: "dispatch",
      isPermittedByVerb: true,
      refuses: [
        ...CREATION_REFUSALS,
        "api_not_offered",
        "model_not_found",
        "no_eligible_workers",
        "queue_timeout",
        "budget_reached",
      ],
    },
    asking.ask,
  ),
  follow: operation({ ...FOLLOW, ...ONE }, follow),
  abandon: operation(FOLLOW, abandon),
  mayAsk: operation(
    {
      ...ASK,
      ...GROW,
      kind: "dispatch",
      isPermittedByVerb: true,
      refuses: ["idempotency_key_reused", "history_backlog", "api_not_offered", "model_not_found", ...LIMIT_REFUSALS],
    },
    asking.mayAsk,
  ),
  listModels: operation(REVIEW, alone(models.listModels)),
  readCorsOrigins: operation(ASK, alone(asking.readCorsOrigins)),
  getModel: operation({ ...REVIEW, refuses: ["model_not_found"] }, models.getModel),

  reportPresence: operation(
    { ...WORK, ...VITAL, refuses: ["instance_taken", "too_many_workers", "too_many_offers"] },
    presence.report,
  ),
  listPresent: operation(CONSULT, workers.listPresent),
  listWorkers: operation(READ, workers.listWorkers),
  readGrid: operation(READ, workers.readGrid),
  getWorker: operation({ ...READ, ...ONE }, workers.getWorker),
  forgetWorker: operation({ ...WRITE, ...ONCE, refuses: ["not_found", "worker_not_offline"] }, workers.forgetWorker),
  pauseWorker: operation({ ...WRITE, ...ONE }, workers.pause),
  setWorkerHours: operation({ ...WRITE, ...ONE }, workers.setHours),
  resumeWorker: operation({ ...WRITE, ...ONE }, workers.resume),

  createModelTask: operation(
    {
      ...OPERATE,
      ...GROW,
      kind: "dispatch",
      isPermittedByVerb: true,
      refuses: ["not_found", "models_not_managed", "action_not_supported", "too_many_model_tasks"],
    },
    modelTasks.createTask,
  ),
  readPlaces: operation({ ...READ, needs: "operate" }, readPlaces),
  placeModel: operation(
    { ...OPERATE, ...GROW, kind: "dispatch", isPermittedByVerb: true, refuses: ["too_many_model_tasks"] },
    placeModel,
  ),
  listModelTasks: operation(READ, modelTasks.listTasks),
  cancelModelTask: operation({ ...WRITE, ...ONCE, refuses: ["not_found", "task_over"] }, modelTasks.cancel),
  progressModelTask: operation({ ...TASK_REPORT }, modelTasks.progress),
  finishModelTask: operation({ ...TASK_REPORT, ...ONCE }, modelTasks.done),

  workAs: operation({ ...WORK, refuses: ["instance_taken", "not_found"] }, presence.workAs),
  holdLease: operation(REPORT, report.holdLease),
  claim: operation({ ...WORK, refuses: ["not_found", "instance_taken"] }, claims.claim),
  startJob: operation(REPORT, report.presented(report.start)),
  heartbeatJob: operation(REPORT, report.presented(report.heartbeat)),
  completeJob: operation(COMPLETION, report.presented(finalReport.complete)),
  completeAndClaim: operation(COMPLETION, claims.completeAndClaim),
  failJob: operation(REPORT, report.presented(finalReport.fail)),
  releaseJob: operation(REPORT, report.presented(report.release)),

  readKillswitch: operation({ ...READ, ...VITAL }, alone(killswitch.read)),
  activateKillswitch: operation({ ...OPERATE, ...VITAL }, killswitch.engageKillswitch),
  clearKillswitch: operation({ ...OPERATE, ...VITAL }, clearKillswitch),

  createSchedule: operation(
    { ...WRITE, ...ONCE, ...GROW, refuses: ["schedule_exists", "too_many_schedules"] },
    schedules.create,
  ),
  listSchedules: operation(READ, schedules.list),
  getSchedule: operation({ ...READ, ...ONE }, schedules.get),
  previewSchedule: operation(READ, schedules.preview),
  editSchedule: operation({ ...WRITE, ...GROW, refuses: ["not_found", "too_many_schedules"] }, schedules.patch),
  deleteSchedule: operation({ ...WRITE, ...ONCE, ...ONE }, schedules.remove),
  runSchedule: operation(
    { ...NEW_JOB, refuses: ["not_found", "idempotency_key_reused", ...LIMIT_REFUSALS] },
    schedules.runNow,
  ),

  createKey: operation({ ...ADMIN, ...GROW, ...PEOPLE, refuses: ["too_many_keys"] }, keys.createKey),
  listKeys: operation({ ...ADMIN, ...PEOPLE }, keys.listKeys),
  patchKey: operation({ ...ADMIN, refuses: ["not_found", "too_many_keys"] }, keys.patchKey),
  rotateKey: operation({ ...ADMIN, ...PEOPLE, refuses: ["not_found", "key_inactive"] }, keys.rotate),
  revokeKey: operation({ ...ADMIN, ...PEOPLE, refuses: ["not_found", "last_admin_key"] }, keys.revoke),
  grantKey: operation({ ...READ, ...ONCE, ...GROW, refuses: ["too_many_keys"] }, grants.grantKey),
  createSession: operation(CONSULT, sessions.createSession),
  readSession: operation(CONSULT, sessions.readSession),
  endSession: operation({ ...CONSULT, ...ONCE }, sessions.endSession),

  readSignIn: operation(ADMIN, alone(signIn.readSignIn)),
  putSignIn: operation({ ...ADMIN_WRITE, ...GROW }, signIn.putSignIn),
  listAttempts: operation(ADMIN, alone(signIn.listAttempts)),
  listPeople: operation(ADMIN, alone(people.listPeople)),
  blockPerson: operation({ ...ADMIN, ...ONE }, people.block),
  unblockPerson: operation({ ...ADMIN, ...ONE }, people.unblock),
  endPersonSessions: operation({ ...ADMIN, ...ONE }, people.endSessions),

  putProviderKey: operation({ ...ADMIN, ...GROW }, providerKeys.putProviderKey),
  listProviderKeys: operation(ADMIN, alone(providerKeys.listProviderKeys)),
  removeProviderKey: operation({ ...ADMIN, ...ONE }, providerKeys.removeProviderKey),

  createWebhook: operation({ ...ADMIN_WRITE, ...ONCE, ...GROW }, webhooks.create),
  listWebhooks: operation(ADMIN, alone(webhooks.list)),
  getWebhook: operation({ ...ADMIN, ...ONE }, webhooks.get),
  patchWebhook: operation({ ...ADMIN_WRITE, ...ONE }, webhooks.patch),
  deleteWebhook: operation({ ...ADMIN_WRITE, ...ONCE, ...ONE }, webhooks.remove),
  rotateWebhook: operation({ ...ADMIN_WRITE, ...ONCE, ...ONE }, webhooks.rotate),
  testWebhook: operation({ ...ADMIN_WRITE, ...ONCE, ...ONE }, webhooks.test),
  listDeliveries: operation({ ...ADMIN, ...ONE }, webhooks.listDeliveries),
  redeliver: operation({ ...ADMIN_WRITE, ...ONCE, ...ONE }, webhooks.redeliver),

  announceFile: operation({ ...ASK_WRITE, ...ONCE, ...GROW, refuses: ["files_full"] }, files.announceFile),
  finishFile: operation({ ...ASK, refuses: ["not_found", "files_full"] }, files.finishFile),
  forgetFile: operation(ASK, files.forgetFile),
  /** What is asked before a part is stored, and before its upload is completed or cancelled. */
  getUpload: operation({ ...ASK_WRITE, ...ONE }, files.getUpload),
  announceOutput: operation(
    { ...REPORT, ...GROW, ...ONCE, refuses: [...REPORT.refuses, "files_full"] },
    outputs.announceOutput,
  ),
  finishOutput: operation(
    { ...REPORT, refuses: [...REPORT.refuses, "files_full", "unsupported_media_type"] },
    outputs.finishOutput,
  ),
  forgetOutput: operation(WORK, files.forgetFile),
  getFile: operation({ ...FOLLOW, ...ONE }, files.getFile),
  readFile: operation({ ...FOLLOW, ...ONE }, files.readFile),
  listFiles: operation(FOLLOW, files.listFiles),
  listFilesAfter: operation({ ...REVIEW, ...ONE }, files.listFilesAfter),
  deleteFile: operation({ ...ASK_WRITE, ...ONCE, refuses: ["not_found", "file_in_use"] }, files.deleteFile),

  createBatch: operation(
    {
      ...ASK_WRITE,
      ...ONCE,
      ...GROW,
      kind: "create",
      refuses: ["not_found", "too_many_batches", "history_backlog", ...LIMIT_REFUSALS],
    },
    batches.create,
  ),
  getBatch: operation({ ...REVIEW, ...ONE }, batches.get),
  listBatches: operation(REVIEW, batches.list),
  listBatchesBeside: operation({ ...REVIEW, ...ONE }, batches.listBeside),
  cancelBatch: operation({ ...ASK_WRITE, refuses: ["not_found", "batch_state"] }, batches.cancel),
  deleteBatch: operation({ ...ASK_WRITE, ...ONCE, refuses: ["not_found", "batch_state"] }, batches.remove),

  getResponse: operation({ ...REVIEW, ...ONE }, responses.getResponse),
  readChain: operation(ASK, responses.readChain),
  findItems: operation(ASK, responses.findItems),
  readItems: operation({ ...REVIEW, ...ONE }, responses.readItems),
  cancelResponse: operation({ ...ASK_WRITE, ...ONE }, responses.cancelResponse),
  deleteResponse: operation({ ...ASK_WRITE, ...ONCE, ...ONE }, responses.deleteResponse),
  finishInput: operation({ ...ASK, refuses: ["not_found", "files_full"] }, responses.finishInput),

  readConfig: operation(CONSULT, alone(config.readConfig)),
  replaceConfig: operation(
    { ...ADMIN_WRITE, ...ONCE, ...GROW, makesRoom: config.keepsLess, refuses: ["etag_mismatch"] },
    config.replaceConfig,
  ),

  readBudgets: operation(READ, alone(budget.readBudgets)),
  readLatency: operation(READ, latency.readLatency),
  readActivity: operation(READ, activity.readActivity),
  readMetrics: operation(READ, alone(metrics.readMetrics)),

  /** Only checks the permission, for reads of history and writes to D1. */
  authorizeWork: operation({ ...WORK, ...VITAL }, readCaller),
  authorizeConsult: operation(CONSULT, readCaller),
  authorizeOperate: operation(OPERATE, readCaller),
  authorizeRead: operation(READ, readCaller),
  authorizeAsk: operation(ASK, readCaller),
  authorizeReview: operation(REVIEW, readCaller),
  authorizeFollow: operation(FOLLOW, readCaller),
  authorizeAdmin: operation(ADMIN, readCaller),
  authorizeAdminWrite: operation(ADMIN_WRITE, readCaller),
} as const;

export type OperationRow = Rules & { readonly run: unknown };
export type OperationName = keyof typeof OPERATIONS;
export type RequestOf<Name extends OperationName> = Parameters<(typeof OPERATIONS)[Name]["run"]>[1];
export type AnswerOf<Name extends OperationName> =
  ReturnType<(typeof OPERATIONS)[Name]["run"]> extends Result<infer Answer, Refusal> ? Answer : never;

/** All refusals of an operation. */
export const refusalsOf = (name: OperationName): readonly RefusalCode[] => {
  const { refuses, kind, needsRoom }: Rules = OPERATIONS[name];
  return [
    ...refuses,
    ...(kind === "exempt" ? [] : (["killswitch_active"] as const)),
    ...(needsRoom ? (["tenant_full"] as const) : []),
  ];
};
