// What every part gets: the servers, how long to measure, how large to go.

import type { Figure } from "./figures.ts";
import type { Pace } from "./load.ts";
import type { Served } from "./measure/processes.ts";

export type Scale = "quick" | "usual" | "full";

export interface Bench {
  scale: Scale;
  /** A folder of this run, removed at its end. */
  folder: string;
  /** A folder that outlives the run, with Signalbox's data; null if nothing is kept. */
  keptIn: string | null;
  floor: Served;
  signalbox: Served;
  pace: Pace;
  /** Each server first does jobs for so long: while it is new, it compiles its own code as it serves. */
  warmMs: number;
  clients: readonly number[];
  sizes: Sizes;
  /** Of the part `soak`; null: half of what is most. */
  soak: { readonly minutes: number; readonly jobsPerSecond: number | null };
  /** Options of `npm start` for the servers of the part `hostile`. */
  hostileArgs: readonly string[];
  /** The part `hostile` runs the attacks with these words in their names. */
  attack: string;
  /** The figures so far, including those of earlier parts. */
  figures: Figure[];
  say: (figure: Figure) => void;
}

export interface Sizes {
  pendingJobs: readonly number[];
  workers: readonly number[];
  wakeWorkers: number;
  wakeJobs: number;
  latencySamples: number;
}

export type Measurement = (bench: Bench) => Promise<void>;
