// The audit log: it contains everything that an operator got an answer for, and history has each entry unchanged.

import type { OperationName } from "../../../durable-objects/api.ts";
import type { Model } from "../model.ts";
import { TENANT } from "../platform/shell.ts";
import type { World } from "../world.ts";
import type { Snapshot } from "./snapshot.ts";

type Request = Readonly<Record<string, unknown>>;

/** The entry of an operation that was answered successfully: its action and its target. */
const LINE_OF: { readonly [Name in OperationName]?: (request: Request) => string | null } = {
  createKey: ({ id }) => `key.created ${id}`,
  rotateKey: ({ id }) => `key.rotated ${id}`,
  revokeKey: ({ id }) => `key.revoked ${id}`,
  activateKillswitch: ({ level }) => (level === 0 ? null : `killswitch.activated level ${level}`),
  pauseWorker: ({ instance }) => `worker.paused ${instance}`,
  setWorkerHours: ({ instance }) => `worker.hours ${instance}`,
  resumeWorker: ({ instance }) => `worker.resumed ${instance}`,
  forgetWorker: ({ instance }) => `worker.forgotten ${instance}`,
  replaceConfig: ({ etag }) => `config.replaced ${etag}`,
  createSchedule: ({ name }) => `schedule.created ${name}`,
  editSchedule: ({ name }) => `schedule.changed ${name}`,
  deleteSchedule: ({ name }) => `schedule.deleted ${name}`,
  runSchedule: ({ name }) => `schedule.run ${name}`,
  createWebhook: ({ id }) => `webhook.created ${id}`,
  patchWebhook: ({ id }) => `webhook.changed ${id}`,
  rotateWebhook: ({ id }) => `webhook.rotated ${id}`,
  deleteWebhook: ({ id }) => `webhook.deleted ${id}`,
};

const count = (counts: Map<string, number>, line: string): void => {
  counts.set(line, (counts.get(line) ?? 0) + 1);
};

/** An operation was answered successfully. */
export const noteAnswer = ({ answered }: Model, name: OperationName, request: unknown): void => {
  const line = LINE_OF[name]?.((request ?? {}) as Request) ?? null;
  if (line !== null) count(answered, line);
};

/** Records new entries, in the order of the outbox. */
export const hearAudit = ({ model }: World, now: Snapshot): void => {
  for (const { entries } of now.outbox)
    for (const { action, target, detail, actor } of entries.audit) {
      count(model.audited, `${action} ${target}`);
      count(model.auditTexts, JSON.stringify([action, target, detail, actor.name]));
    }
};

/** If an answer was lost there may be one more entry. */
export const answersAreAudited = (_before: Snapshot, now: Snapshot, { model }: World): string | null => {
  if (now.outbox.length === 0) return null;
  for (const [line, times] of model.answered) {
    const told = model.audited.get(line) ?? 0;
    if (told < times) return `${line} was answered ${times} times, and stands ${told} times in the audit`;
  }
  return null;
};

/** The entries that history got since the last check equal those that were sent. */
export const auditAgrees = ({ model, shell }: World): string | null => {
  const rows = shell.history.rows(
    "SELECT rowid, action, target, detail, actor_name FROM audit WHERE tenant = ? AND rowid > ?",
    TENANT,
    model.lastAuditRow,
  );
  for (const row of rows) {
    const text = JSON.stringify([row.action, row.target, JSON.parse(row.detail as string), row.actor_name]);
    const left = model.auditTexts.get(text) ?? 0;
    if (left === 0) return `history has a line of the audit that was not told: ${text}`;
    model.auditTexts.set(text, left - 1);
    model.lastAuditRow = Math.max(model.lastAuditRow, row.rowid as number);
  }
  const missing = [...model.auditTexts].find(([, left]) => left > 0);
  if (missing !== undefined) return `history lost a line of the audit: ${missing[0]}`;
  model.auditTexts.clear();
  return null;
};
