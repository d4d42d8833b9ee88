// What a worker did over a rolling period, on the wire.

import * as z from "zod";
import { rollingPeriods } from "../../domain/insight/slots.ts";
import { mark } from "../activity.ts";
import { count, instant } from "../words/field.ts";

/** The newest: a worker may have had millions. */
export const MAX_WORKER_JOBS = 10_000;

const sums = {
  completed: count,
  failed: count,
  usd: z.number().meta({ description: "US dollars; jobs of unknown price are not in it" }),
};
const runMs = z.number().nullable();

export const workerActivity = z
  .object({
    period: z.enum(rollingPeriods),
    from: instant,
    to: instant,
    is_whole: z.boolean().meta({ description: `false: it is of the newest ${MAX_WORKER_JOBS} jobs` }),
    total: z.object({ ...sums, p50_ms: runMs, p95_ms: runMs }).meta({ description: "run times of completed jobs" }),
    series: z
      .array(
        z.object({
          at: instant,
          ...sums,
          load: z.number().meta({ description: "jobs that it ran at once, on average" }),
          p95_ms: runMs,
        }),
      )
      .meta({ description: "every step, oldest first; a job ends in one, and loads all that it ran in" }),
    served: z
      .array(z.object({ provider: z.string().nullable(), model: z.string().nullable(), ...sums, p95_ms: runMs }))
      .meta({ description: "what it ran, most jobs first" }),
    marks: z.array(mark).meta({ description: "its pauses, oldest first" }),
  })
  .meta({ id: "WorkerActivity" });

export type WorkerActivity = z.infer<typeof workerActivity>;
