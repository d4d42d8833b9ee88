// RFC 9457 problem documents, the form of every error except those of the front door.

import * as z from "zod";
import { json } from "./field.ts";

export const problemResource = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string().meta({ description: "the request id" }),
    code: z.string(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    workers: z
      .array(json)
      .optional()
      .meta({ description: "with `no_eligible_workers`: each worker and why it cannot take the job" }),
  })
  .meta({ id: "Problem" });

export type ProblemResource = z.infer<typeof problemResource>;
