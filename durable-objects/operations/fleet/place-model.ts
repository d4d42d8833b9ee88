// Places copies of a model where there is room, or only says where that is.

import {
  MAX_PLACES_SHOWN,
  type ModelTaskResource,
  type PlaceAnswer,
  presentTask,
} from "../../../contract/fleet/model-task.ts";
import type { Member } from "../../../domain/fleet/fleet.ts";
import { UNKNOWN_MACHINE } from "../../../domain/fleet/machine.ts";
import { withModel } from "../../../domain/fleet/model-set.ts";
import { isTaskOver } from "../../../domain/fleet/model-task.ts";
import { pauseTextOf } from "../../../domain/fleet/pause.ts";
import { isCopy, type PlaceFacts, type PlaceVerdict, placesFor } from "../../../domain/fleet/placement.ts";
import { pauseOf } from "../../../domain/fleet/worker.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { isSilent } from "../../steps/last-sign.ts";
import type { Turn } from "../../turn/turn.ts";
import { orderTask, permitTask } from "./model-tasks.ts";

const IDLE_AFTER_MS = 600_000;

export interface Placement {
  readonly model: string;
  readonly copies: number;
  readonly tags: readonly string[];
  readonly isDryRun: boolean;
}

export const placeModel = (turn: Turn, placement: Placement): Result<PlaceAnswer, Refusal> => {
  const { model, copies, isDryRun } = placement;
  const permitted = isDryRun ? ok(null) : permitTask(turn, "load");
  if (!permitted.ok) return permitted;
  const fleet = workersWith(turn, placement.tags).map((member) => factsOf(turn, member, model));
  const places = placesFor(fleet, model);
  const missing = Math.max(0, copies - fleet.filter((facts) => isCopy(facts, model)).length);
  const chosen = places.filter(({ score }) => score !== null).slice(0, missing);
  const given = isDryRun ? ok([]) : giveTasks(turn, chosen, model);
  if (!given.ok) return given;
  return ok({ tasks: given.value, workers: places.slice(0, MAX_PLACES_SHOWN).map(presentPlace) });
};

const giveTasks = (
  turn: Turn,
  chosen: readonly PlaceVerdict[],
  model: string,
): Result<ModelTaskResource[], Refusal> => {
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

const factsOf = (turn: Turn, member: Member, model: string): PlaceFacts => {
  const { worker, load } = member;
  const { instance, machine, runtimeModels, lastCompletedAt } = worker;
  return {
    instance,
    machine: (machine === null ? null : turn.store.workers.machineOf(instance)) ?? UNKNOWN_MACHINE,
    isListed: runtimeModels !== null && withModel(model)(runtimeModels),
    tasks: turn.memory.modelTasks.of(instance).filter((task) => !isTaskOver(task)),
    obstacle: obstacleOf(turn, member),
    isIdle: load === 0 && turn.nowAt - (lastCompletedAt ?? 0) >= IDLE_AFTER_MS,
  };
};

const obstacleOf = (turn: Turn, member: Member): string | null => {
  if (isSilent(turn, member)) return "is offline";
  const paused = pauseOf(member.worker, turn.nowAt);
  return paused === null ? null : `is paused: ${pauseTextOf(paused)}`;
};

const presentPlace = ({ instance, score, breakdown, reasons }: PlaceVerdict): PlaceAnswer["workers"][number] => ({
  instance,
  score,
  breakdown: { ...breakdown },
  reasons: [...reasons],
});
