// Where there is room for a model: which workers could take one more copy, how well, and why. A copy is a worker that has
// the model loaded, or is getting it, and is not offline.

import { modelKeyOf } from "../words/model-key.ts";
import { MIB } from "../words/size.ts";
import type { Hardware, MachineReport, ModelAction } from "./machine.ts";
import type { ModelTask } from "./model-task.ts";

/** What the rules ask of a machine's report, which may have 64 KiB. */
interface PlaceMachine {
  /** null: it says nothing of its memory. */
  readonly memory: { readonly totalMb: number; readonly freeMb: number; readonly ramMb: number } | null;
  readonly loadedCount: number;
  readonly isLoaded: boolean;
  /** Of the model, by what it says of its disk: null if it is not there, undefined if it does not say. */
  readonly diskBytes: number | null | undefined;
  readonly maxLoaded: number | null;
  readonly can: readonly ModelAction[];
}

/** A worker that may take the model. */
export interface PlaceFacts {
  readonly instance: string;
  readonly machine: PlaceMachine;
  /** Its runtime lists the model; only asked where it does not say what is on its disk. */
  readonly isListed: boolean;
  /** Its tasks that are not over. */
  readonly tasks: readonly ModelTask[];
  readonly isOffline: boolean;
  /** Why it takes no model tasks now, e.g. that it is paused. */
  readonly obstacle: string | null;
  /** It has done nothing for a while. */
  readonly isIdle: boolean;
}

/** Points of each part of the score. */
const PLACE_POINTS = { on_disk: 40, fits: 40, idle: 15, ram_only: -30, loaded: -10 } as const;
type PlacePart = keyof typeof PLACE_POINTS;

export interface PlaceVerdict {
  readonly instance: string;
  /** null: it gets none. */
  readonly score: number | null;
  readonly breakdown: Readonly<Partial<Record<PlacePart, number>>>;
  readonly reasons: readonly string[];
  /** What is done if it is chosen. */
  readonly action: ModelAction;
}

/** Weights on disk grow in memory by the context. */
const MEMORY_SHARE = 1.2;

export const placeMachineOf = (report: MachineReport, model: string): PlaceMachine => {
  const { hardware, loaded, onDisk, maxLoaded, can } = report;
  const key = modelKeyOf(model);
  const onIts = onDisk?.filter((one) => modelKeyOf(one.model) === key).map(({ bytes }) => bytes);
  return {
    memory: hardware === null ? null : memoryOf(hardware),
    loadedCount: loaded?.length ?? 0,
    isLoaded: (loaded ?? []).some((one) => modelKeyOf(one.model) === key),
    diskBytes: onIts?.reduce<number | null>((most, bytes) => Math.max(most ?? 0, bytes), null),
    maxLoaded,
    can: can ?? [],
  };
};

const memoryOf = ({ gpus, ramMb }: Hardware): PlaceMachine["memory"] => ({
  totalMb: gpus.reduce((sum, { totalMb }) => sum + totalMb, 0),
  freeMb: gpus.reduce((sum, { totalMb, usedMb }) => sum + totalMb - usedMb, 0),
  ramMb,
});

export const isCopy = ({ machine, tasks, isOffline }: PlaceFacts, model: string): boolean => {
  if (isOffline) return false;
  const key = modelKeyOf(model);
  return machine.isLoaded || tasks.some((task) => isBringing(task) && modelKeyOf(task.model) === key);
};

const isBringing = ({ action }: ModelTask): boolean => action === "pull" || action === "load";

/** What the model needs in memory, by its size on the disks that have it; null if none says. */
const neededMbOf = (fleet: readonly PlaceFacts[]): number | null => {
  const sizes = fleet.map(({ machine }) => machine.diskBytes).filter((bytes) => bytes != null);
  const largest = sizes.reduce((most, bytes) => Math.max(most, bytes), 0);
  return sizes.length === 0 ? null : Math.ceil((largest * MEMORY_SHARE) / MIB);
};

/** All workers, best first; those that get none are last. */
export const placesFor = (fleet: readonly PlaceFacts[], model: string): PlaceVerdict[] => {
  const neededMb = neededMbOf(fleet);
  return fleet
    .map((facts) => verdictOn(facts, model, neededMb))
    .sort(
      (one, other) =>
        (other.score ?? Number.NEGATIVE_INFINITY) - (one.score ?? Number.NEGATIVE_INFINITY) ||
        (one.instance < other.instance ? -1 : 1),
    );
};

/** The places, and those of them that are to get it, so that there are so many copies. */
export const choosePlaces = (
  fleet: readonly PlaceFacts[],
  model: string,
  copies: number,
): { places: PlaceVerdict[]; chosen: PlaceVerdict[] } => {
  const places = placesFor(fleet, model);
  const missing = Math.max(0, copies - fleet.filter((facts) => isCopy(facts, model)).length);
  return { places, chosen: places.filter(({ score }) => score !== null).slice(0, missing) };
};

const verdictOn = (facts: PlaceFacts, model: string, neededMb: number | null): PlaceVerdict => {
  const { instance, machine } = facts;
  const isOnDisk = hasOnDisk(facts);
  const action = isOnDisk ? "load" : "pull";
  const refusal = refusalOf(facts, model, action, neededMb);
  if (refusal !== null) return { instance, score: null, breakdown: {}, reasons: [refusal], action };
  const fit = fitOf(machine, neededMb);
  const counts: Record<PlacePart, number> = {
    on_disk: Number(isOnDisk),
    fits: Number(fit.isFree),
    idle: Number(facts.isIdle),
    ram_only: Number(fit.isRamOnly),
    loaded: machine.loadedCount,
  };
  const parts = (Object.keys(PLACE_POINTS) as PlacePart[]).filter((part) => counts[part] > 0);
  const breakdown = Object.fromEntries(parts.map((part) => [part, PLACE_POINTS[part] * counts[part]]));
  const score = Object.values(breakdown).reduce((sum, points) => sum + points, 0);
  return { instance, score, breakdown, reasons: [isOnDisk ? "has it on disk" : "pulls it first", fit.says], action };
};

const hasOnDisk = ({ machine: { diskBytes }, isListed }: PlaceFacts): boolean =>
  diskBytes === undefined ? isListed : diskBytes !== null;

const refusalOf = (facts: PlaceFacts, model: string, action: ModelAction, neededMb: number | null): string | null => {
  const { machine, isOffline, obstacle } = facts;
  if (isOffline) return "is offline";
  if (isCopy(facts, model)) return "has it loaded, or is getting it";
  if (obstacle !== null) return obstacle;
  const { can, memory } = machine;
  if (can.length === 0) return "takes no model tasks: it was started without --manage-models";
  if (!can.includes(action)) return `cannot ${action} models`;
  if (memory === null || neededMb === null) return null;
  const holdsMb = Math.max(memory.totalMb, memory.ramMb);
  return neededMb > holdsMb ? `too small: it needs about ${neededMb} MB of ${holdsMb} MB` : null;
};

interface Fit {
  readonly isFree: boolean;
  readonly isRamOnly: boolean;
  readonly says: string;
}

/** Whether it fits beside what is loaded. */
const fitOf = ({ memory, loadedCount, maxLoaded }: PlaceMachine, neededMb: number | null): Fit => {
  const neither = { isFree: false, isRamOnly: false };
  if (maxLoaded !== null && loadedCount >= maxLoaded)
    return { ...neither, says: `another model makes room: it holds ${maxLoaded} at once` };
  if (memory === null) return { ...neither, says: "says nothing of its memory" };
  if (neededMb === null) return { ...neither, says: "the size of the model is not known" };
  if (memory.totalMb < neededMb)
    return { isFree: false, isRamOnly: true, says: `runs it from RAM: it needs about ${neededMb} MB` };
  if (memory.freeMb < neededMb) return { ...neither, says: `another model makes room: it needs about ${neededMb} MB` };
  return { isFree: true, isRamOnly: false, says: `fits: it needs about ${neededMb} MB` };
};
