// The audit log on the wire.

import * as z from "zod";
import type { AuditEntry } from "../domain/words/event.ts";
import { actor, presentIds } from "./access/person.ts";
import { instant, json, label, listQuery, page, toIso } from "./words/field.ts";

export const auditQuery = z.strictObject({
  ...listQuery,
  action: label(64)
    .optional()
    .meta({ description: "as `key.revoked`, or what comes before its point: `key` finds all that was done to keys" }),
  actor: label(420).optional().meta({ description: "who did it: the id or name of a key, or of a person" }),
  target: label(256).optional().meta({ description: "what it was done to" }),
  since: instant.optional(),
  until: instant.optional().meta({ description: "before this time" }),
});
export const auditList = z
  .object({
    entries: z.array(
      z.object({
        at: instant,
        actor,
        action: z.string(),
        target: z.string(),
        detail: json,
      }),
    ),
    ...page,
  })
  .meta({ id: "AuditList" });
export type AuditQuery = z.infer<typeof auditQuery>;
export type AuditList = z.infer<typeof auditList>;
export type AuditEntryResource = z.infer<typeof auditList>["entries"][number];

export const presentAuditEntry = (entry: AuditEntry): AuditEntryResource => ({
  at: toIso(entry.at),
  actor: { ...presentIds(entry.actor), name: entry.actor.name },
  action: entry.action,
  target: entry.target,
  detail: entry.detail,
});
