// What is known of the workers that may take a copy of a model, and the tasks of those that are chosen.

import { type ModelTaskResource, presentTask } from "../../../contract/fleet/model-task.ts";
import type { Member } from "../../../domain/fleet/fleet.ts";
import { type MachineReport, UNKNOWN_MACHINE } from "../../../domain/fleet/machine.ts";
import { withModel } from "../../../domain/fleet/model-set.ts";
import { isTaskOver } from "../../../domain/fleet/model-task.ts";
import { pauseTextOf } from "../../../domain/fleet/pause.ts";
import { type PlaceFacts, type PlaceVerdict, placeMachineOf } from "../../../domain/fleet/placement.ts";
import { pauseOf, unavailableOf } from "../../../domain/fleet/worker.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { isSilent } from "../../steps/last-sign.ts";
import type { Turn } from "../../turn/turn.ts";
import { orderTask, permitTask } from "./model-tasks.ts";

const IDLE_AFTER_MS = 600_000;

/** Machines are read in portions of so many characters: of 20,000 workers they may have 64 MiB together. */
const MACHINE_CHARS = 512 * 1024;
/** Of small machines, which take their time, too. */
const MACHINES_A_PART = 500;

/** What the rules ask of the workers from number `from` on, and the number of the first that is left; null for none. */
export interface PlacesPart {
  readonly facts: readonly PlaceFacts[];
  readonly next: number | null;
}

export const readPlaces = (
  turn: Turn,
  { model, tags, from }: { model: string; tags: readonly string[]; from: number },
): Result<PlacesPart, Refusal> => {
  const members = workersWith(turn, tags).slice(from);
  const facts: PlaceFacts[] = [];
  let chars = 0;
  for (const member of members) {
    if (chars > MACHINE_CHARS || facts.length === MACHINES_A_PART) return ok({ facts, next: from + facts.length });
    const read = factsOf(turn, member, model);
    facts.push(read.facts);
    chars += read.chars;
  }
  return ok({ facts, next: null });
};

/** A worker that was chosen, and how it gets the model. */
type ChosenPlace = Pick<PlaceVerdict, "instance" | "action">;

export const placeModel = (
  turn: Turn,
  { model, chosen }: { model: string; chosen: readonly ChosenPlace[] },
): Result<ModelTaskResource[], Refusal> => {
  const permitted = permitTask(turn, "load");
  return permitted.ok ? giveTasks(turn, chosen, model) : permitted;
};

const giveTasks = (turn: Turn, chosen: readonly ChosenPlace[], model: string): Result<ModelTaskResource[], Refusal> => {
  const tasks: ModelTaskResource[] = [];
  for (const { instance, action } of chosen) {
    const given = orderTask(turn, { instance, action, model, keepAlive: null });
    // Nothing is undone: what was given stands, and the next call counts it.
    if (!given.ok) return tasks.length > 0 ? ok(tasks) : err(given.error);
    tasks.push(presentTask(given.value));
  }
  return ok(tasks);
};

const workersWith = (turn: Turn, tags: readonly string[]): Member[] =>
  [...turn.memory.fleet.members()].filter(
    ({ worker }) => !worker.isEdge && tags.every((tag) => worker.tags.includes(tag)),
  );

const factsOf = (turn: Turn, member: Member, model: string): { facts: PlaceFacts; chars: number } => {
  const { worker, load } = member;
  const { instance, machine, runtimeModels, lastCompletedAt } = worker;
  const text = machine === null ? null : turn.store.workers.machineText(instance);
  const report = text === null ? UNKNOWN_MACHINE : (JSON.parse(text) as MachineReport);
  const facts = {
    instance,
    machine: placeMachineOf(report, model),
    isListed: runtimeModels !== null && withModel(model)(runtimeModels),
    tasks: turn.memory.modelTasks.of(instance).filter((task) => !isTaskOver(task)),
    isOffline: isSilent(turn, member),
    obstacle: obstacleOf(turn, member),
    isIdle: load === 0 && turn.nowAt - (lastCompletedAt ?? 0) >= IDLE_AFTER_MS,
  };
  return { facts, chars: text?.length ?? 0 };
};

const obstacleOf = ({ nowAt }: Turn, { worker }: Member): string | null => {
  const paused = pauseOf(worker, nowAt);
  if (paused !== null) return `is paused: ${pauseTextOf(paused)}`;
  const unavailable = unavailableOf(worker, nowAt);
  return unavailable === null ? null : `is unavailable: ${unavailable}`;
};
