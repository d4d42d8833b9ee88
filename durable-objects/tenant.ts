// One tenant: the single writer of its live state. This file has what others may call beside the operations, which are in
// `operations/`.

import type { KeyResource } from "../contract/access/key.ts";
import type { ClaimAnswer } from "../contract/fleet/worker.ts";
import type { JobReport } from "../contract/socket.ts";
import { mayHaveBytes } from "../domain/file/file.ts";
import type { Metric } from "../domain/insight/exposition.ts";
import { FULL_HALT } from "../domain/killswitch.ts";
import type { PageRequest, TablePage, TableRows } from "../domain/tenant/moved-rows.ts";
import type { HistoryPlace } from "../domain/tenant/tenant-database.ts";
import type { JobStatus } from "../domain/words/job-status.ts";
import type { Refusal } from "../domain/words/refusal.ts";
import { ok, type Result } from "../domain/words/result.ts";
import { type AdmissionAnswer, type AdmissionName, type AdmissionRequest, runAdmission } from "./admissions.ts";
import { counted } from "./calls/key-rates.ts";
import { OPERATOR, SERVICE } from "./calls/turn-runner.ts";
import { type HistoryMove, moveHistory } from "./moves/history-move.ts";
import type { Leaving } from "./moves/moving.ts";
import type { Arrival } from "./moves/relocation.ts";
import { addAdminKey, createTenant, type NewKey, type NewTenant } from "./operations/access/keys.ts";
import { forgetFile, type ReadableFile, readFile } from "./operations/files/files.ts";
import { learnCatalog, noteEdgeTrouble } from "./operations/fleet/edge-workers.ts";
import { leftToOthers } from "./operations/fleet/final-report.ts";
import { announceOutput, finishOutput } from "./operations/fleet/outputs.ts";
import { reportFirstToken } from "./operations/fleet/report.ts";
import {
  type AttemptEnd,
  abandon,
  attemptEnd,
  endBegunAnswer,
  isGivenTo,
  loseStream,
} from "./operations/halts/abandon.ts";
import { briefMetrics } from "./operations/insight/metrics.ts";
import { boundTenant, countPruned, noteArchive } from "./placing/storage-use.ts";
import type { ResultStep, RunnerOwner } from "./relay/runner-owner.ts";
import type { StreamLease, StreamOwner } from "./relay/stream-owner.ts";
import { handleMessage } from "./sockets/socket-messages.ts";
import type { CatalogReport } from "./steps/catalog.ts";
import type { Credential } from "./steps/holders.ts";
import { openStore } from "./store/open.ts";
import { TenantObject } from "./tenant-object.ts";
import type { JobWaits } from "./waits/job-waits.ts";

/** Below what one call may ask of other objects. */
const FILES_ENDED_A_CALL = 500;

export class Tenant extends TenantObject implements StreamOwner, RunnerOwner {
  /** Creates the tenant with its first admin key. Only called by the edge, with the root key. */
  async create(request: NewTenant): Promise<Result<null, Refusal>> {
    return this.parts.turns.decide(SERVICE, (turn) => createTenant(turn, request));
  }

  /** Adds an admin key. Only called by the edge, with the root key. */
  async addAdminKey(request: NewKey): Promise<Result<KeyResource, Refusal>> {
    return this.parts.turns.decide(OPERATOR, (turn) => addAdminKey(turn, request));
  }

  /** What the edge asks for somebody who has no session yet; it has checked what they bring. */
  async admit<Name extends AdmissionName>(
    name: Name,
    request: AdmissionRequest<Name>,
  ): Promise<Result<AdmissionAnswer<Name>, Refusal>> {
    return this.parts.turns.decide(SERVICE, (turn) => runAdmission(turn, name, request));
  }

  /** Sets what it may store. Only called by the edge, with the root key. */
  async bound(request: { maxGb: number | null }): Promise<Result<{ storedBytes: number }, Refusal>> {
    return this.parts.turns.decide(OPERATOR, (turn) => boundTenant(turn, request));
  }

  /** Ends some of the tenant's files, before it ends itself; false if none is left. Only called by the edge. */
  async endFiles(): Promise<boolean> {
    const { files, batches } = this.parts.store;
    const some = files.someAlone(FILES_ENDED_A_CALL);
    await this.parts.files.end(some.filter(mayHaveBytes));
    for (const { id } of some) files.remove(id);
    if (some.length === FILES_ENDED_A_CALL) return true;
    // Until its lines are known, a batch has no files.
    await this.parts.files.endShared(files.allShelved(), batches.open());
    return false;
  }

  /** For the metrics of the whole deployment. Only called by the edge, with the root key. */
  async tellMetrics(): Promise<Result<Metric[], Refusal>> {
    return ok(await this.parts.turns.read(briefMetrics));
  }

  /**
   * Ends the tenant: its keys, its sockets and all live data. Only called by the edge, with the root key; the edge then
   * deletes the history. After this, nothing of the tenant is on its way to D1.
   */
  async destroy(): Promise<void> {
    // Without the memory: a tenant whose rows do not fit into it must end, too.
    this.ctx.waitUntil(this.parts.relays.endAll(this.parts.store.workers.relayed()));
    this.ctx.waitUntil(this.parts.relays.dropBodies(this.parts.store.jobs.heldBodies()));
    await this.ctx.blockConcurrencyWhile(async () => {
      this.parts.sockets.endAll("deleted");
      await this.ctx.storage.deleteAlarm();
      await this.ctx.storage.deleteAll();
      openStore(this.ctx.storage);
      this.parts.turns.forget();
    });
    this.parts.waiters.notifyAll("");
    await this.parts.history.ended();
  }

  /** The steps of a move to another deployment (`relocation.ts`). */
  async leave(to: string): Promise<Result<Leaving, Refusal>> {
    return this.parts.relocation.leave(to);
  }

  async stay(): Promise<Result<null, Refusal>> {
    const stayed = await this.parts.relocation.stay();
    // Its alarms did nothing meanwhile.
    if (stayed.ok) await this.alarm();
    return stayed;
  }

  async endLeaving(): Promise<Result<null, Refusal>> {
    return this.parts.relocation.endLeaving();
  }

  async readTable(request: PageRequest): Promise<Result<TablePage, Refusal>> {
    return this.parts.relocation.readTable(request);
  }

  async makeRoom(arrival: Arrival): Promise<Result<"arriving" | "arrived", Refusal>> {
    return this.parts.relocation.makeRoom(arrival);
  }

  async writeTable(table: string, part: TableRows): Promise<Result<null, Refusal>> {
    return this.parts.relocation.writeTable(table, part);
  }

  async settleIn(origin: string): Promise<Result<null, Refusal>> {
    return this.parts.relocation.settleIn(origin);
  }

  /** The steps of its history's move to another database here. After the first, nothing is on its way to the old one. */
  async moveHistory(move: HistoryMove): Promise<Result<HistoryPlace, Refusal>> {
    const { turns, history } = this.parts;
    const moved = await turns.relocate(OPERATOR, (turn) => moveHistory(turn, move));
    await history.ended();
    if (moved.ok && moved.value.to === null) await history.flush();
    return moved;
  }

  /** A claim that waits for a job for up to `waitMs`. `caller`: its name, if it may leave (`leaveWait`). */
  async claimWaiting(
    credential: Credential,
    request: { instance: string; max: number },
    waitMs: number,
    caller?: string,
  ): Promise<Result<ClaimAnswer, Refusal>> {
    const claim = (isWaiting: boolean) =>
      this.call(isWaiting ? credential : counted(credential), "claim", { ...request, isWaiting });
    return this.parts.claims.claim(request.instance, waitMs, claim, caller);
  }

  /** Answers that wait for a job (`job-waits.ts`). */
  waitForJob(...asked: Parameters<JobWaits["end"]>): ReturnType<JobWaits["end"]> {
    return this.parts.jobWaits.end(...asked);
  }

  ask(...asked: Parameters<JobWaits["ask"]>): ReturnType<JobWaits["ask"]> {
    return this.parts.jobWaits.ask(...asked);
  }

  watch(...asked: Parameters<JobWaits["watch"]>): ReturnType<JobWaits["watch"]> {
    return this.parts.jobWaits.watch(...asked);
  }

  /** The caller of one of these waits has left. */
  async leaveWait(caller: string): Promise<Result<null, Refusal>> {
    this.parts.waiters.leave(caller);
    return ok(null);
  }

  /** What relays report and ask (`StreamOwner`). */
  async readerGone(jobId: string, lease: number, isSlow: boolean): Promise<void> {
    await this.parts.turns.decide(SERVICE, (turn) =>
      turn.store.jobs.find(jobId)?.lease === lease
        ? abandon(turn, { id: jobId, why: isSlow ? "slow" : "left" })
        : ok(false),
    );
  }

  async firstToken(id: string, lease: number): Promise<void> {
    await this.parts.turns.decide(SERVICE, (turn) => reportFirstToken(turn, { id, lease }));
  }

  async endBegunAnswer(jobId: string): Promise<void> {
    await this.parts.turns.decide(SERVICE, (turn) => ok(endBegunAnswer(turn, jobId)));
  }

  async givenTo(instance: string, leases: readonly StreamLease[]): Promise<boolean[]> {
    return this.parts.turns.read((turn) => leases.map((one) => isGivenTo(turn, instance, one)));
  }

  async areValid(holders: readonly string[]): Promise<boolean[]> {
    const { turns, isValid } = this.parts;
    return turns.read(() => holders.map((one) => isValid(JSON.parse(one) as Credential)));
  }

  async streamLost(jobId: string, lease: number): Promise<void> {
    await this.parts.turns.decide(SERVICE, (turn) => ok(loseStream(turn, { jobId, lease })));
  }

  async endsOf(leases: readonly StreamLease[]): Promise<AttemptEnd[]> {
    return this.parts.turns.read((turn) => leases.map((one) => attemptEnd(turn, one)));
  }

  /** What the coordinator's own calls report (`RunnerOwner`). */
  async hearRunner(instance: string, report: JobReport, refusal: string | null): Promise<boolean> {
    if (refusal !== null)
      await this.parts.turns.decide(SERVICE, (turn) => ok(noteEdgeTrouble(turn, instance, refusal)));
    const heard = await this.parts.turns.decide(SERVICE, (turn) =>
      handleMessage(turn, instance, refusal === null ? report : leftToOthers(turn, report, refusal)),
    );
    return heard.ok;
  }

  async keepRunnerResult(step: ResultStep): Promise<Result<unknown, Refusal>> {
    return this.parts.turns.decide(SERVICE, (turn): Result<unknown, Refusal> => {
      if (step.do === "announce") return announceOutput(turn, step.asked);
      return step.do === "finish" ? finishOutput(turn, step.asked) : forgetFile(turn, step.asked);
    });
  }

  async sealedKey(provider: string): Promise<string | null> {
    return this.parts.turns.read((turn) => turn.store.providerKeys.find(provider)?.sealed ?? null);
  }

  /** A file that a signed link names; only called by the edge, after it has checked the signature. */
  async fileOf(id: string): Promise<Result<ReadableFile, Refusal>> {
    return this.parts.turns.decide(OPERATOR, (turn) => readFile(turn, { id }));
  }

  /** Brings D1 up to date with everything before this call; false while D1 is down or far behind. */
  async drain(): Promise<boolean> {
    return this.parts.history.flushForReader();
  }

  /** The result of a sync; only called by the edge, after it has stored the list. */
  async learnCatalog(report: CatalogReport): Promise<Result<null, Refusal>> {
    return this.parts.turns.decide(SERVICE, (turn) => learnCatalog(turn, report));
  }

  /** Viewers read the subscriptions again; only called by the edge, after it has stored a change of them. */
  async noteSubscriptions(): Promise<void> {
    await this.parts.turns.decide(SERVICE, (turn) => ok(void turn.effects.changedTopics.add("catalog")));
  }

  /** History has these finished jobs no more, but perhaps the archive; only called by the Cron Trigger, afterwards. */
  async notePruned(pruned: Partial<Record<JobStatus, number>>, archivedBytes: number): Promise<void> {
    await this.parts.turns.decide(SERVICE, (turn) => ok(countPruned(turn, pruned, archivedBytes)));
  }

  /** The archive does not take jobs that are old enough for it. */
  async noteArchiveTrouble(): Promise<void> {
    await this.parts.turns.decide(SERVICE, (turn) => ok(noteArchive(turn, true)));
  }

  async isSyncHalted(): Promise<boolean> {
    return this.parts.turns.read(({ memory }) => memory.absence !== null || memory.killswitch.level >= FULL_HALT);
  }
}
