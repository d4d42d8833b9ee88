// What presence reports say of the machine: looked at with each heartbeat, and told at once when something changed that
// an operator or the router would notice.

import { loadedModel, type MachineResource, machineFields, modelOnDisk } from "../../contract/fleet/machine.ts";
import { MAX_RUNTIME_MODELS } from "../../contract/words/values.ts";
import { hardwareReader } from "./hardware.ts";
import { type ModelManager, NOTHING_KNOWN } from "./model-manager.ts";

const LOOK_TIMEOUT_MS = 10_000;
/** Memory in use is told again when it changed by such a share of the card. */
const MEMORY_STEPS = 20;

type MachineOptions = {
  /** Null: nothing is known of the runtime's models. */
  manager: ModelManager | null;
  /** The machine's owner allows model tasks. */
  isManaged: boolean;
  /** The largest model that a task may pull, in GB; null: any. */
  maxModelGb: number | null;
  readHardware?: () => Promise<NonNullable<MachineResource["hardware"]>>;
};

export class Machine {
  readonly #options: MachineOptions;
  readonly #readHardware: () => Promise<MachineResource["hardware"]>;
  #facts: MachineResource = { hardware: null, ...NOTHING_KNOWN };
  #onChange = () => {};
  #underWay: Promise<void> | null = null;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.#readHardware = options.readHardware ?? hardwareReader();
  }

  /** How model tasks are run here. */
  get forTasks() {
    const { manager, isManaged, maxModelGb } = this.#options;
    return { manager: isManaged ? manager : null, maxModelGb, onDone: () => void this.look() };
  }

  get facts(): MachineResource {
    return this.#facts;
  }

  watch(onChange: () => void): void {
    this.#onChange = onChange;
  }

  look(): Promise<void> {
    this.#underWay ??= this.#look().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }

  async #look(): Promise<void> {
    const { manager, isManaged } = this.#options;
    const known = manager?.look(AbortSignal.timeout(LOOK_TIMEOUT_MS)).catch(() => null);
    const [hardware, models] = await Promise.all([this.#readHardware().catch(() => null), known]);
    // While the runtime is away, what it last said stands.
    const told = models ?? this.#facts;
    const can = isManaged && manager !== null ? (told.can ?? this.#facts.can) : null;
    const before = this.#facts;
    this.#facts = bounded({ ...told, hardware, can });
    if (worthTelling(before) !== worthTelling(this.#facts)) this.#onChange();
  }
}

const isOne =
  (schema: { safeParse: (told: unknown) => { success: boolean } }) =>
  (told: unknown): boolean =>
    schema.safeParse(told).success;

/** As much as a report may have: what a runtime or a tool says of itself may be anything. */
const bounded = (facts: MachineResource): MachineResource => {
  const cut = {
    ...facts,
    loaded: facts.loaded?.filter(isOne(loadedModel)).slice(0, MAX_RUNTIME_MODELS) ?? null,
    on_disk: facts.on_disk?.filter(isOne(modelOnDisk)).slice(0, MAX_RUNTIME_MODELS) ?? null,
  };
  const isKnown = (field: keyof typeof machineFields): boolean => isOne(machineFields[field])(cut[field]);
  return {
    ...cut,
    hardware: isKnown("hardware") ? cut.hardware : null,
    max_loaded: isKnown("max_loaded") ? cut.max_loaded : null,
  };
};

/** Figures that change all the time are told with the next report. */
const worthTelling = ({ hardware, loaded, ...models }: MachineResource): string => {
  const memory = hardware?.gpus.map(({ name, total_mb, used_mb }) => [
    name,
    Math.round((used_mb / Math.max(1, total_mb)) * MEMORY_STEPS),
  ]);
  return JSON.stringify([memory, loaded?.map(({ model }) => model), models]);
};
