// Why a job would go where: the router's whole reasoning for a request, or for a waiting job.

import { type Explanation, presentExplanation } from "../../../contract/dispatch.ts";
import type { Brought } from "../../../domain/job/archived-job.ts";
import { explain, heldBack, type Routing, type Scope } from "../../../domain/routing/explanation.ts";
import type { RouteRequest } from "../../../domain/routing/filter.ts";
import { haltReason } from "../../../domain/words/halt-reason.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import type { Priority, Tier } from "../../../domain/words/requirements.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { fairReason } from "../../placing/fair-reason.ts";
import { routePolicy, routeRequest } from "../../placing/route-policy.ts";
import { delayReason } from "../../placing/waiting-reason.ts";
import { findJob } from "../../steps/find-job.ts";
import { mayUseEdge } from "../../steps/key-limits.ts";
import type { Turn } from "../../turn/turn.ts";

interface ExplainRequest {
  /** Of the job that is asked about. */
  readonly id: string | null;
  readonly archived?: Brought | undefined;
  readonly provider: string | null;
  readonly model: string | null;
  readonly tags: readonly string[];
  readonly tier: Tier | null;
  readonly urgency: Priority;
  readonly scope?: Scope;
}

export const explainRouting = (turn: Turn, request: ExplainRequest): Result<Explanation, Refusal> => {
  const { id, archived } = request;
  const found = id === null ? ok(null) : findJob(turn, { id, archived });
  if (!found.ok) return found;
  const job = found.value;
  if (job !== null && job.status !== "pending") {
    return err({ code: "job_state", id: job.id, status: job.status, command: "explain" });
  }
  const asked = job === null ? asNewJob(turn, request) : routeRequest(turn, job);
  const policy = routePolicy(turn);
  const turnOf = job === null ? null : fairReason(turn, job, policy);
  const notes = [...notesOn(turn, asked), ...(turnOf === null ? [] : [turnOf])];
  const routing = explain(turn.memory.fleet, asked, policy, notes, request.scope);
  const delay = job === null ? null : delayReason(turn, job);
  return ok(presentExplanation(underKillswitch(turn, delay === null ? routing : heldBack(routing, delay))));
};

/** A job that the caller's key would make of it. */
const asNewJob = (turn: Turn, request: ExplainRequest): RouteRequest => ({
  ...request,
  api: null,
  edge: mayUseEdge(turn),
  waitingSinceAt: turn.nowAt,
  excludedProviders: [],
  avoidedWorkers: [],
  batch: null,
});

/** Under the killswitch no worker is selected, whatever its score. */
const underKillswitch = (turn: Turn, routing: Routing): Routing =>
  turn.memory.killswitch.level > 0 ? { ...routing, selected: null } : routing;

const notesOn = (turn: Turn, asked: RouteRequest): string[] => {
  const { killswitch, catalog } = turn.memory;
  const notes: string[] = [];
  if (killswitch.level > 0) notes.push(`${haltReason(killswitch.level)}: nothing is dispatched`);
  const facts = asked.provider === null ? undefined : catalog.get(asked.provider);
  if (facts !== undefined && asked.model !== null && !facts.models.has(asked.model)) {
    notes.push(`the catalog of ${asked.provider} does not list model "${asked.model}"`);
  }
  return notes;
};
