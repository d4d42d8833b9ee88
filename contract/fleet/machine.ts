// A worker's machine on the wire: its hardware, the models that are loaded and on disk, and what it can do with them.

import * as z from "zod";
import { type Hardware, type MachineReport, MODEL_ACTIONS } from "../../domain/fleet/machine.ts";
import { count, fromIso, instant, label, modelName, toIsoOrNull } from "../words/field.ts";
import { MAX_RUNTIME_MODELS } from "../words/values.ts";

const MAX_GPUS = 64;
const MAX_MB = 1_000_000_000;
const MAX_LOADED_MODELS = 500;
const MAX_LOADED_AT_ONCE = 10_000;

const megabytes = z.number().min(0).max(MAX_MB);

const hardware = z
  .strictObject({
    gpus: z
      .array(
        z.strictObject({
          name: label(128),
          total_mb: megabytes,
          used_mb: megabytes,
          utilization: z.number().min(0).max(100).nullish().meta({ description: "percent" }),
        }),
      )
      .max(MAX_GPUS),
    ram_mb: megabytes,
    ram_free_mb: megabytes,
  })
  .meta({ id: "Hardware" });

export const loadedModel = z
  .strictObject({ model: modelName, vram_mb: megabytes.nullish(), expires_at: instant.nullish() })
  .meta({ id: "LoadedModel" });

export const modelOnDisk = z.strictObject({ model: modelName, bytes: count }).meta({ id: "ModelOnDisk" });

const modelAction = z.enum(MODEL_ACTIONS);

/** All fields of a presence report that inform about the machine. */
export const machineFields = {
  hardware: hardware.nullish(),
  loaded: z
    .array(loadedModel)
    .max(MAX_LOADED_MODELS)
    .nullish()
    .meta({ description: "the models in its memory: they score, and never filter" }),
  on_disk: z.array(modelOnDisk).max(MAX_RUNTIME_MODELS).nullish(),
  max_loaded: z
    .int()
    .min(1)
    .max(MAX_LOADED_AT_ONCE)
    .nullish()
    .meta({ description: "how many models it holds in memory at once" }),
  can: z
    .array(modelAction)
    .max(MODEL_ACTIONS.length)
    .nullish()
    .meta({ description: "the model tasks that it takes; without it, it takes none" }),
};

/** The same in an answer: null is not known. A coordinator of an earlier release says nothing of it. */
export const machineAnswer = {
  hardware: hardware.nullable().default(null),
  loaded: z.array(loadedModel).nullable().default(null),
  on_disk: z.array(modelOnDisk).nullable().default(null),
  max_loaded: z.int().nullable().default(null),
  can: z
    .array(modelAction)
    .nullable()
    .default(null)
    .meta({ description: "the model tasks that it takes; null: its models are not managed" }),
};

const machineObject = z.object(machineFields);
const machineAnswerObject = z.object(machineAnswer);
export type MachineResource = z.infer<typeof machineAnswerObject>;

const toHardware = ({ gpus, ram_mb, ram_free_mb }: z.infer<typeof hardware>): Hardware => ({
  gpus: gpus.map(({ name, total_mb, used_mb, utilization = null }) => ({
    name,
    totalMb: total_mb,
    usedMb: used_mb,
    utilization,
  })),
  ramMb: ram_mb,
  ramFreeMb: ram_free_mb,
});

const presentHardware = ({ gpus, ramMb, ramFreeMb }: Hardware): z.infer<typeof hardware> => ({
  gpus: gpus.map(({ name, totalMb, usedMb, utilization }) => ({
    name,
    total_mb: totalMb,
    used_mb: usedMb,
    utilization,
  })),
  ram_mb: ramMb,
  ram_free_mb: ramFreeMb,
});

export const toMachine = (body: z.infer<typeof machineObject>): MachineReport => ({
  hardware: body.hardware == null ? null : toHardware(body.hardware),
  loaded:
    body.loaded?.map(({ model, vram_mb, expires_at }) => ({
      model,
      vramMb: vram_mb ?? null,
      expiresAt: expires_at == null ? null : fromIso(expires_at),
    })) ?? null,
  onDisk: body.on_disk?.map(({ model, bytes }) => ({ model, bytes })) ?? null,
  maxLoaded: body.max_loaded ?? null,
  can: body.can == null ? null : [...new Set(body.can)],
});

export const presentMachine = (machine: MachineReport): MachineResource => ({
  hardware: machine.hardware === null ? null : presentHardware(machine.hardware),
  loaded:
    machine.loaded?.map(({ model, vramMb, expiresAt }) => ({
      model,
      vram_mb: vramMb,
      expires_at: toIsoOrNull(expiresAt),
    })) ?? null,
  on_disk: machine.onDisk?.map((one) => ({ ...one })) ?? null,
  max_loaded: machine.maxLoaded,
  can: machine.can === null ? null : [...machine.can],
});
