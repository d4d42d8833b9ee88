// The killswitch on the wire.

import * as z from "zod";
import type { Killswitch } from "../domain/killswitch.ts";
import { count, instant, label, toIsoOrNull } from "./field.ts";

export const killswitchRequest = z
  .strictObject({ level: z.int().min(0).max(4), reason: label(500) })
  .meta({ id: "KillswitchRequest" });

export const clearKillswitchQuery = z.strictObject({ resume_all: z.enum(["true", "false"]).default("false") });

export const killswitchResource = z
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
  .meta({ id: "Killswitch" });

export type KillswitchRequest = z.infer<typeof killswitchRequest>;
export type KillswitchResource = z.infer<typeof killswitchResource>;

export const presentKillswitch = (state: Killswitch, confirmedWorkers: number): KillswitchResource => ({
  level: state.level,
  reason: state.reason,
  active: state.level > 0,
  activated_at: toIsoOrNull(state.activatedAt),
  activated_by: state.activatedBy,
  halted_jobs: state.haltedJobs,
  paused_workers: state.pausedWorkers,
  confirmed_workers: confirmedWorkers,
});
