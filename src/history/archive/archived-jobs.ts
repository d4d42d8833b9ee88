// Jobs that have left history for the archive. A key that may read all of its tenant's jobs may read them.

import type { JobListQuery } from "../../../contract/jobs/job-list.ts";
import { invalid } from "../../../domain/words/refusal.ts";
import { inTurn } from "../../http/admission.ts";
import type { AppContext } from "../../http/auth.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { Refused } from "../../http/refused.ts";
import { callTenant } from "../../tenant/tenant.ts";
import { historyOf } from "../databases.ts";
import type { JobPage } from "../lists/list-jobs.ts";
import type { ArchivedLine } from "./part.ts";
import { findInArchive, listArchive } from "./read.ts";
import { archiveOf } from "./store.ts";

/** For a caller that may read. Null if the archive has no such job, or the service has no archive. */
export const archivedLine = async (c: AppContext, token: TokenFacts, id: string): Promise<ArchivedLine | null> => {
  const archive = archiveOf(c.env);
  return archive === null ? null : findInArchive(historyOf(c.env, token), archive, id);
};

/** What `read` finds, or what the archive has of the job that it does not find. */
export const orArchived = async <T>(
  c: AppContext,
  token: TokenFacts,
  id: string,
  read: Promise<T>,
): Promise<{ readonly own: T } | { readonly line: ArchivedLine }> => {
  try {
    return { own: await read };
  } catch (error) {
    if (!(error instanceof Refused) || error.refusal.code !== "not_found" || archiveOf(c.env) === null) throw error;
    const mayRead = await callTenant(c.env, token, "authorizeRead", null);
    const line = mayRead.ok ? await inTurn(c, token.tenant, "reading", () => archivedLine(c, token, id)) : null;
    if (line === null) throw error;
    return { line };
  }
};

/** What a command answers. If only the archive has the job, a caller that may read it there is told so. */
export const notArchived = async <T>(c: AppContext, token: TokenFacts, id: string, command: Promise<T>): Promise<T> => {
  const found = await orArchived(c, token, id, command);
  if ("own" in found) return found.own;
  throw new Refused({ code: "job_archived", id });
};

export const listArchived = (c: AppContext, token: TokenFacts, query: JobListQuery): Promise<JobPage> => {
  const archive = archiveOf(c.env);
  if (archive === null) throw new Refused(invalid("archived", "is not possible: this service has no archive"));
  if (query.count_only !== undefined)
    throw new Refused(invalid("count_only", "does not work with archived jobs: leave it out"));
  return listArchive(historyOf(c.env, token), archive, query);
};
