// The flags for when a worker takes jobs, and what is wrong with them.

import * as z from "zod";
import { parseHours, parseTimezone } from "../../contract/fleet/hours.ts";
import { readableBy } from "../../contract/words/field.ts";
import { type IdleRule, parseIdleRule } from "./idle-gate.ts";
import type { OpeningSettings } from "./open-doors.ts";

export const OPENING_FLAGS = {
  hours: 'takes jobs only then: --hours "Mon-Fri 19:00-07:00; Sat,Sun 00:00-24:00"',
  tz: "time zone of --hours, such as Europe/Berlin (default: the machine's)",
  "when-idle": 'takes jobs only while others leave the GPU alone: --when-idle "gpu<20%,5m"',
  drain: "now: gives running jobs back when its hours end or its machine is used (default: finishes them)",
} as const;

export const openingFields = {
  "--hours": z.string().superRefine(readableBy(parseHours)).optional(),
  "--tz": z.string().superRefine(readableBy(parseTimezone)).optional(),
  "--when-idle": z
    .string()
    .transform((given, context): IdleRule => {
      const rule = parseIdleRule(given);
      if (rule !== null) return rule;
      context.addIssue(
        `must be like "gpu<20%,5m" with its quotes: a share of the GPU's time, and how long it must last`,
      );
      return z.NEVER;
    })
    .optional(),
  "--drain": z.enum(["now"], { error: "must be now" }).optional(),
};

type Given = z.infer<z.ZodObject<typeof openingFields>>;

/** Undefined: always open. */
export const openingSettings = (given: Given): OpeningSettings | undefined => {
  const { "--hours": text, "--when-idle": idle = null } = given;
  if (text === undefined && idle === null) return undefined;
  const timezone = given["--tz"] ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  return { hours: text === undefined ? null : { text, timezone }, idle, drainsNow: given["--drain"] === "now" };
};
