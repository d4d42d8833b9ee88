// The first steps with a new tenant, and which of them are done. A step that was done once stays done: this browser
// remembers it by tenant.

import { keepJson, keptJson } from "../state/storage.ts";

export const STEPS = ["runtime", "job", "client", "budget", "person"] as const;
export type Step = (typeof STEPS)[number];
export type Ticks = Readonly<Record<Step, boolean>>;

const KEPT_AS = "signalbox.first-steps";

type Kept = Readonly<Record<string, readonly string[]>>;

const read = (): Kept => (keptJson("localStorage", KEPT_AS) as Kept | null) ?? {};

export const ticksOf = (isDone: (step: Step) => boolean): Ticks =>
  Object.fromEntries(STEPS.map((step) => [step, isDone(step)])) as Record<Step, boolean>;

export const keptTicks = (tenant: string): Ticks => {
  const done = read()[tenant] ?? [];
  return ticksOf((step) => done.includes(step));
};

export const keepTicks = (tenant: string, ticks: Ticks): void =>
  keepJson("localStorage", KEPT_AS, { ...read(), [tenant]: STEPS.filter((step) => ticks[step]) });

export const doneCount = (ticks: Ticks): number => STEPS.filter((step) => ticks[step]).length;
