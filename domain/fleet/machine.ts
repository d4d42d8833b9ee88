// What a worker says of its machine: its processors, which models are loaded and on disk, and what it can do with them.
// Invariant: it informs and scores, it never filters. The names and figures are on disk; memory keeps what routing reads.

import { digestOf, type ModelSet, modelSetOf, utf8Length } from "./model-set.ts";

export const MODEL_ACTIONS = ["pull", "load", "unload", "delete"] as const;
export type ModelAction = (typeof MODEL_ACTIONS)[number];

interface Gpu {
  readonly name: string;
  readonly totalMb: number;
  readonly usedMb: number;
  /** In percent; null if it is not known. */
  readonly utilization: number | null;
}

export interface Hardware {
  readonly gpus: readonly Gpu[];
  readonly ramMb: number;
  readonly ramFreeMb: number;
}

interface LoadedModel {
  readonly model: string;
  readonly vramMb: number | null;
  readonly expiresAt: number | null;
}

interface ModelOnDisk {
  readonly model: string;
  readonly bytes: number;
}

/** A field that is null is not known. */
export interface MachineReport {
  readonly hardware: Hardware | null;
  readonly loaded: readonly LoadedModel[] | null;
  readonly onDisk: readonly ModelOnDisk[] | null;
  /** How many models it holds at once. */
  readonly maxLoaded: number | null;
  /** null: it takes no model tasks. */
  readonly can: readonly ModelAction[] | null;
}

export const UNKNOWN_MACHINE: MachineReport = {
  hardware: null,
  loaded: null,
  onDisk: null,
  maxLoaded: null,
  can: null,
};

/** A machine as the fleet keeps it in memory. */
export interface Machine {
  /** The same for equal reports. */
  readonly id: number;
  readonly loaded: ModelSet | null;
  readonly maxLoaded: number | null;
  readonly can: readonly ModelAction[] | null;
  /** Of all its processors; null if it tells of none. */
  readonly gpuMemory: { readonly usedMb: number; readonly totalMb: number } | null;
  /** Whether it says anything of its models: which it has, or that it may be told to get some. */
  readonly tellsModels: boolean;
  /** What its lists count against the bound of all offers. */
  readonly bytes: number;
}

/** What a processor counts beside its name, the same whatever its figures are. */
const GPU_BYTES = 64;

export const hardwareBytesOf = (hardware: Hardware | null): number =>
  (hardware?.gpus ?? []).reduce((sum, { name }) => sum + utf8Length(name) + GPU_BYTES, 0);

const gpuMemoryOf = (hardware: Hardware | null): Machine["gpuMemory"] => {
  if (hardware === null || hardware.gpus.length === 0) return null;
  const sumOf = (field: "usedMb" | "totalMb"): number => hardware.gpus.reduce((sum, gpu) => sum + gpu[field], 0);
  return { usedMb: sumOf("usedMb"), totalMb: sumOf("totalMb") };
};

const isUnknown = (report: MachineReport): boolean => Object.values(report).every((said) => said === null);

/** The machine of a report; the known one if it is the same, null if the report says nothing of it. */
export const machineOf = (report: MachineReport, known: Machine | null = null): Machine | null => {
  if (isUnknown(report)) return null;
  const id = digestOf(JSON.stringify(report));
  if (known?.id === id) return known;
  const { hardware, loaded, onDisk, maxLoaded, can } = report;
  const loadedSet = loaded === null ? null : modelSetOf(loaded.map(({ model }) => model));
  const onDiskBytes = (onDisk ?? []).reduce((sum, { model }) => sum + utf8Length(model), 0);
  const bytes = hardwareBytesOf(hardware) + (loadedSet?.bytes ?? 0) + onDiskBytes;
  const tellsModels = loaded !== null || onDisk !== null || can !== null;
  return { id, loaded: loadedSet, maxLoaded, can, gpuMemory: gpuMemoryOf(hardware), tellsModels, bytes };
};
