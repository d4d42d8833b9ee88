// The killswitch on the wire.

import * as z from "zod";
import { WORKER_STATUSES } from "../domain/fleet/worker.ts";
import type { Killswitch } from "../domain/killswitch.ts";
import { lineOf } from "./text/start-of.ts";
import { count, instant, toIsoOrNull } from "./words/field.ts";
import { MAX_UNCONFIRMED } from "./words/values.ts";

const MAX_REASON_CHARS = 500;

/** Made to fit: neither the text of a reason nor the want of one delays an emergency stop. */
const reason = z
  .string()
  .overwrite((text) => lineOf(text, MAX_REASON_CHARS))
  .nullish()
  .meta({ description: `why; kept as one line of at most ${MAX_REASON_CHARS} characters` });

export const killswitchRequest = z
  .strictObject({ level: z.int().min(0).max(4), reason })
  .meta({ id: "KillswitchRequest" });

export const clearKillswitchQuery = z.strictObject({ resume_all: z.enum(["true", "false"]).default("false") });

/** The state as workers see it. */
export const killswitchState = z
  .object({
    level: z.int().min(0).max(4),
    reason: z.string().nullable(),
    active: z.boolean(),
    activated_at: instant.nullable(),
    activated_by: z.string().nullable(),
    halted_jobs: count,
    paused_workers: count,
    confirmed_workers: count,
  })
  .meta({ id: "KillswitchState" });

const unconfirmedWorker = z.object({ instance: z.string(), status: z.enum(WORKER_STATUSES), last_heartbeat: instant });

/** The state as operators see it: also which workers have not confirmed the halt. */
export const killswitchResource = killswitchState
  .extend({
    workers_to_confirm: count.meta({
      description: "workers that have confirmed the halt or still can; offline workers are not waited for",
    }),
    unconfirmed: z.array(unconfirmedWorker).meta({
      description: `workers that have not confirmed the halt, at most ${MAX_UNCONFIRMED}, offline ones last`,
    }),
  })
  .meta({ id: "Killswitch" });

export type KillswitchRequest = z.infer<typeof killswitchRequest>;
export type KillswitchState = z.infer<typeof killswitchState>;
export type KillswitchResource = z.infer<typeof killswitchResource>;

export const presentKillswitch = (state: Killswitch, confirmedWorkers: number): KillswitchState => ({
  level: state.level,
  reason: state.reason,
  active: state.level > 0,
  activated_at: toIsoOrNull(state.activatedAt),
  activated_by: state.activatedBy,
  halted_jobs: state.haltedJobs,
  paused_workers: state.pausedWorkers,
  confirmed_workers: confirmedWorkers,
});
