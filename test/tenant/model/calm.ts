// The end of a run: nothing fails any more, and workers do their jobs. What is left then was lost, and history must
// have everything once.

import type { JobResource } from "../../../contract/jobs/job.ts";
import { agree } from "./agreement.ts";
import { isFinal, isLeased } from "./job-state.ts";
import { Contradiction, type Model } from "./model.ts";
import { Clear, Configure, Hold } from "./operator-steps.ts";
import { Pass, ReadHistory } from "./platform-steps.ts";
import type { System } from "./system.ts";
import { Claim, Present, Report } from "./worker-steps.ts";

const LONG_SECONDS = 2_000;
const ROUNDS = 30;
/** A final job stays in the object for a moment. */
const GRACE_SECONDS = 15;
const WORKERS = [
  { instance: "w1", provider: "p", tags: ["a", "b"], concurrency: 5 },
  { instance: "w2", provider: "q", tags: ["a", "b"], concurrency: 5 },
] as const;

/** No worker offers it. */
export const STRANGE_TAG = "nobody";

const open = (model: Model) =>
  [...model.jobs.values()].flatMap(([job]) => (job === undefined || isFinal(job) ? [] : job));

/** Every job that a worker can do gets done; every other says what it waits for. */
const workOff = async (model: Model, system: System): Promise<void> => {
  const report = new Report("complete", 0, "current", 1);
  for (let round = 0; round < ROUNDS; round += 1) {
    const doable = open(model).filter(({ tags }) => !tags.includes(STRANGE_TAG));
    if (doable.length === 0) return;
    for (const offer of WORKERS) await new Claim(offer.instance, 5).run(model, system);
    for (let count = open(model).filter(isLeased).length; count > 0; count -= 1) await report.run(model, system);
  }
  throw new Contradiction(`jobs are left for ever: ${JSON.stringify(open(model))}`);
};

const waitersSayWhy = async (model: Model, system: System): Promise<void> => {
  for (const { id } of open(model)) {
    const job: JobResource = await system.world.ok("GET", `/api/jobs/${id}`);
    if (job.status !== "pending" || job.waiting_reason?.includes(STRANGE_TAG) !== true)
      throw new Contradiction(`job ${id} is ${job.status}, and says that it waits for "${job.waiting_reason}"`);
  }
};

/** Each event once, each lease to one worker, in the order in which it happened. */
const historyTellsAll = async (model: Model, system: System): Promise<void> => {
  for (const id of model.jobs.keys()) {
    const job = model.known(id);
    const { events } = await system.world.ok("GET", `/api/jobs/${id}/events`);
    const of = (type: string): { worker: string | null; lease: number }[] =>
      events.filter((event: { type: string }) => event.type === type);
    if (of("job.created").length !== 1)
      throw new Contradiction(`job ${id} was created ${of("job.created").length} times`);
    const leases = of("job.assigned").map(({ lease }) => lease);
    if (leases.join() !== Array.from({ length: job.lease }, (_, index) => index + 1).join())
      throw new Contradiction(`job ${id} has lease ${job.lease}, and was assigned under ${leases}`);
    for (const { lease, worker } of of("job.assigned")) model.handOut(id, lease, worker ?? "nobody");
    const ends = of("job.completed").length;
    if (ends !== (job.status === "completed" ? 1 : 0)) throw new Contradiction(`job ${id} was completed ${ends} times`);
  }
};

/** Final in history means gone from the object; nothing stays in the outbox. */
const objectIsSmall = async (model: Model, system: System): Promise<void> => {
  await new Pass(GRACE_SECONDS, "by hand").run(model, system);
  const { outbox } = await system.timetable();
  if (outbox > 0) await system.world.stub.drain();
  await new Pass(GRACE_SECONDS * 3, "by hand").run(model, system);
  const left = await system.finalRows();
  if (left > 0) throw new Contradiction(`${left} final jobs never leave the object`);
};

export const calm = async (model: Model, system: System): Promise<void> => {
  await new Clear(true).run(model, system);
  await new Configure("defaults").run(model, system);
  await new Pass(LONG_SECONDS, "by hand").run(model, system);
  const stuck = open(model).find(isLeased);
  if (stuck !== undefined) throw new Contradiction(`job ${stuck.id} stays with silent ${stuck.worker}`);
  for (const offer of WORKERS) {
    if (model.workers.has(offer.instance)) await new Hold(offer.instance, false).run(model, system);
    await new Present(offer, "none", false).run(model, system);
  }
  await workOff(model, system);
  await waitersSayWhy(model, system);
  await new ReadHistory().run(model, system);
  await historyTellsAll(model, system);
  await objectIsSmall(model, system);
  await agree(model, system);
};
