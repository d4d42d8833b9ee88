// Runs a command on a job that may have left the object: asks the object first, then again with the record from
// history. The object refuses a record that may be out of date; the edge then reads it again.

import { type Archived, type Brought, MAX_HISTORY_LOOKS } from "../../domain/job/archived-job.ts";
import { HISTORY_UNAVAILABLE, type Refusal } from "../../domain/words/refusal.ts";
import { err, type Result } from "../../domain/words/result.ts";
import { inTurn } from "../http/admission.ts";
import type { AppContext } from "../http/auth.ts";

/** A record may have megabytes, and each of thousands of calls may bring one: few are read at a time. */
export const withArchived = async <T>(
  c: AppContext,
  tenant: string,
  ask: (archived?: Brought) => Promise<Result<T, Refusal>>,
  find: () => Promise<Archived | null>,
): Promise<Result<T, Refusal>> => {
  const first = await ask();
  return absentAtOf(first) === null ? first : inTurn(c, tenant, "reading", () => askAgain(first, ask, find));
};

const askAgain = async <T>(
  first: Result<T, Refusal>,
  ask: (archived: Brought) => Promise<Result<T, Refusal>>,
  find: () => Promise<Archived | null>,
): Promise<Result<T, Refusal>> => {
  let answer = first;
  for (let looks = 0; looks < MAX_HISTORY_LOOKS; looks += 1) {
    const absentAt = absentAtOf(answer);
    if (absentAt === null) return answer;
    const archived = await find();
    if (archived === null) return answer;
    answer = await ask({ ...archived, absentAt });
  }
  if (absentAtOf(answer) === null) return answer;
  return err(HISTORY_UNAVAILABLE);
};

const absentAtOf = (answer: Result<unknown, Refusal>): number | null =>
  answer.ok || answer.error.code !== "not_found" ? null : (answer.error.absentAt ?? null);
