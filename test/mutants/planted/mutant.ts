// A small defect, and where it is planted.

export interface Mutant {
  /** What is broken. */
  readonly what: string;
  readonly file: string;
  readonly search: string;
  readonly replace: string;
  readonly catcher: Catcher;
}

/** The simulation, or test files, where it does not reach the place. */
export type Catcher = "simulation" | readonly string[];

export const mutant = (
  what: string,
  file: string,
  search: string,
  replace: string,
  catcher: Catcher = "simulation",
): Mutant => ({ what, file, search, replace, catcher });
