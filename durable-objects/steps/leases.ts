// The leases that a worker holds and has not started.

import { type LeasedJob, presentLease } from "../../contract/fleet/worker.ts";
import type { Member } from "../../domain/fleet/fleet.ts";
import type { Job } from "../../domain/job/job.ts";
import { inLeaseOrder } from "../../domain/job/queue-place.ts";
import type { Turn } from "../turn/turn.ts";
import { failIfFileGone, leasedFiles } from "./job-files.ts";

/** The number of leases in one answer; the rest comes with the next one, or by claim. */
export const MAX_LEASES_AN_ANSWER = 1_000;
const MAX_LEASE_CHARS_AN_ANSWER = 4_000_000;

/** What answers to one worker's reports have of them in a second: who reports in bulk has had them. */
const MAX_LEASE_CHARS_A_SECOND = 2 * MAX_LEASE_CHARS_AN_ANSWER;

/** Leases that a worker holds and has not started, as many as one answer carries. */
export const unstartedJobs = (turn: Turn, member: Member): LeasedJob[] => {
  const { told } = member;
  if (Math.abs(turn.nowAt - told.sinceAt) >= 1_000) Object.assign(told, { sinceAt: turn.nowAt, chars: 0 });
  return told.chars >= MAX_LEASE_CHARS_A_SECOND ? [] : presentLeases(turn, unstartedOf(turn, member), told);
};

/** An unstarted lease from a claim is sent again after this time, because its answer was lost. */
const HANDED_AGAIN_AFTER_MS = 5_000;

/** When the first of a worker's leases that were sent and not started is sent again; null if there is none. */
export const handedAgainAt = ({ handedAt }: Member): number | null =>
  handedAt.size === 0 ? null : Math.min(...handedAt.values()) + HANDED_AGAIN_AFTER_MS;

/** Up to `limit` of them that were not sent recently, so two claims in a row never return the same lease. */
export const handOut = (turn: Turn, member: Member, limit: number): LeasedJob[] => {
  const { fleet } = turn.memory;
  const { worker, handedAt } = member;
  const held = unstartedOf(turn, member);
  const isFree = (job: Job): boolean => turn.nowAt - (handedAt.get(job.id) ?? 0) >= HANDED_AGAIN_AFTER_MS;
  const jobs = presentLeases(turn, held.filter(isFree).slice(0, limit));
  for (const { id } of jobs) fleet.noteHanded(worker.instance, id, turn.nowAt);
  return jobs;
};

const unstartedOf = (turn: Turn, { worker, load }: Member): Job[] =>
  inLeaseOrder(turn.store.jobs.unstartedOf(worker.instance, MAX_LEASES_AN_ANSWER, load));

const presentLeases = (turn: Turn, leased: readonly Job[], told = { chars: 0 }): LeasedJob[] => {
  const jobs: LeasedJob[] = [];
  const before = told.chars;
  for (const job of leased) {
    if (failIfFileGone(turn, job)) continue;
    const payload = turn.store.payloads.find(job.id);
    const chars = payload.prompt.length + JSON.stringify(payload.input).length;
    if (jobs.length > 0 && told.chars - before + chars > MAX_LEASE_CHARS_AN_ANSWER) break;
    told.chars += chars;
    jobs.push(presentLease(job, payload, leasedFiles(turn, job)));
  }
  return jobs;
};
