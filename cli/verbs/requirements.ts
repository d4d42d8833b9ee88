// What a job asks of its worker, as flags.

import { PRIORITIES, TIERS } from "../../contract/words/values.ts";
import type { Flag } from "../verb.ts";

export const REQUIREMENTS = {
  model: { takes: "name", says: "the model to use" },
  provider: { takes: "name", says: "the provider to use" },
  tag: { takes: "tag", says: "a tag that the worker must offer", isRepeated: true },
  priority: { takes: PRIORITIES.join("|"), says: "the priority in the queue (normal)" },
  tier: { takes: TIERS.join("|"), says: "the price class" },
} as const satisfies Readonly<Record<string, Flag>>;
