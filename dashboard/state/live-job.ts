// A job as the live view has it: without its long values.

import type { JobResource } from "../../contract/jobs/job.ts";
import type { LiveJob } from "../../contract/live.ts";
import { startOf } from "../../contract/text/start-of.ts";
import { PROMPT_START_CHARS } from "../../contract/words/values.ts";

export const toLiveJob = ({
  prompt,
  input: _input,
  result: _result,
  truncated: _truncated,
  ...rest
}: JobResource): LiveJob => ({
  ...rest,
  prompt_start: startOf(prompt, PROMPT_START_CHARS),
});
