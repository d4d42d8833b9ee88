// Commands on one job, by its owner or its worker.

import type { AnswerOf, OperationName, RequestOf } from "../../../durable-objects/api.ts";
import type { Written } from "../../../durable-objects/calls/grouped-calls.ts";
import { historyOf } from "../../history/databases.ts";
import { findArchived } from "../../history/jobs.ts";
import { withArchived } from "../../history/with-archived.ts";
import type { AppContext } from "../../http/auth.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { unwrap } from "../../http/refused.ts";
import { callTenantForText } from "../../tenant/tenant.ts";

type JobCommandName =
  | "explain"
  | "getJob"
  | "patchJob"
  | "cancelJob"
  | "retryJob"
  | "startJob"
  | "heartbeatJob"
  | "completeJob"
  | "completeAndClaim"
  | "failJob"
  | "releaseJob";

/** Runs a command on a job. If the job has left the object, its record from history is sent along. */
export const commandJob = async <Name extends JobCommandName & OperationName>(
  c: AppContext,
  token: TokenFacts,
  name: Name,
  request: RequestOf<Name> & { id: string },
): Promise<Written<AnswerOf<Name>>> => {
  const answer = await withArchived<Written<AnswerOf<Name>>>(
    c,
    token.tenant,
    (archived) => callTenantForText(c.env, token, name, archived === undefined ? request : { ...request, archived }),
    () => findArchived(historyOf(c.env, token), request.id),
  );
  return unwrap(answer);
};
