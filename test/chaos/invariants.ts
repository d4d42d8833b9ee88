// All promises that a run is checked for, by the name in the report.

import * as calls from "./call-invariants.ts";
import type { Evidence } from "./evidence.ts";
import * as jobs from "./job-invariants.ts";

export interface Violation {
  readonly invariant: string;
  readonly detail: string;
}

export const INVARIANTS: readonly (readonly [string, (evidence: Evidence) => string[]])[] = [
  ["every acknowledged job can be read", jobs.jobsAreReadable],
  ["every job has the prompt it was created with", calls.acknowledgedJobsKeepTheirPrompts],
  ["an idempotency key makes one job", calls.keysMakeOneJob],
  ["a refused call leaves no job", calls.refusedCallsLeaveNoJob],
  ["only a lack of workers and the killswitch refuse a valid call", calls.validCallsAreTaken],
  ["a batch is made whole or not at all", calls.batchesAreAllOrNone],
  ["every job ends in a final state", jobs.jobsEndFinal],
  ["a job's timeline has lawful steps and leases", jobs.timelinesAreLawful],
  ["the list agrees with single reads", jobs.listAgreesWithReads],
  ["a lease is handed to one worker", calls.leasesHaveOneHolder],
  ["a completion that was answered is never taken back", calls.completedAnswersStand],
  ["a report does what it was answered", calls.reportsDoWhatTheyWereAnswered],
  ["what was read does not go back", calls.readsNeverGoBack],
  ["nothing is assigned while the killswitch is on", calls.nothingIsAssignedWhileHalted],
  ["cost counts each attempt once", calls.costCountsEachAttemptOnce],
  ["a due time makes one job", calls.dueTimesMakeOneJob],
  ["no call and no process breaks", calls.nothingBroke],
];

export const findViolations = (evidence: Evidence): Violation[] =>
  INVARIANTS.flatMap(([invariant, check]) => check(evidence).map((detail) => ({ invariant, detail })));
