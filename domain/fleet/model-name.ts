// Which models a worker takes. llama.cpp lists its model as a file: `/models/qwen.gguf`. Invariant: a job runs only where
// its model is, as far as anybody knows.

import { modelKeyOf } from "../words/model-key.ts";

const FILE_ENDING = ".gguf";

/** A runtime's list of this length may have been cut, so it says nothing about a model that it does not name. */
export const MAX_RUNTIME_MODELS = 500;

/** The keys of a name that a runtime lists: of a file's name the folder and the ending may be left out. */
export const listedKeysOf = (listed: string): readonly string[] => {
  if (!listed.endsWith(FILE_ENDING)) return [modelKeyOf(listed)];
  const file = listed.slice(Math.max(listed.lastIndexOf("/"), listed.lastIndexOf("\\")) + 1);
  const names = file === listed ? [listed] : [listed, file];
  return names.flatMap((name) => [name, name.slice(0, -FILE_ENDING.length)]);
};

/** A model that a worker's runtime answered not to have. */
export interface MissingModel {
  /** As `modelKeyOf` gives it. */
  readonly key: string;
  /** Until then the worker is left out for it, unless its list changes. */
  readonly untilAt: number;
}

const MISSING_FOR_MS = 5 * 60_000;
/** Of the models that one runtime lacks; the oldest is forgotten first. */
const MAX_MISSING_MODELS = 64;

/** When the worker may be asked for the model again; null if it may be asked now. */
export const missingUntil = (missing: readonly MissingModel[], model: string | null, nowAt: number): number | null => {
  if (model === null || missing.length === 0) return null;
  const untilAt = missing.find(({ key }) => key === modelKeyOf(model))?.untilAt ?? nowAt;
  return untilAt > nowAt ? untilAt : null;
};

export const withMissing = (
  missing: readonly MissingModel[],
  model: string,
  nowAt: number,
): readonly MissingModel[] => {
  const key = modelKeyOf(model);
  const others = missing.filter((one) => one.key !== key && one.untilAt > nowAt);
  return [...others, { key, untilAt: nowAt + MISSING_FOR_MS }].slice(-MAX_MISSING_MODELS);
};

export const stillMissing = (missing: readonly MissingModel[], nowAt: number): readonly MissingModel[] =>
  missing.filter(({ untilAt }) => untilAt > nowAt);
