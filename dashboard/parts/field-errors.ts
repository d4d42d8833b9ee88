// What a refusal says about each field of a form.

import { ApiProblem } from "../../contract/client/problem.ts";

export type ErrorOf = (field: string) => string | undefined;

/** `input.messages[0]` belongs to `input`. */
const fieldOf = (path: string): string | undefined => path.split(/[.[]/)[0];

export const fieldErrors =
  (error: Error | null): ErrorOf =>
  (field) =>
    error instanceof ApiProblem ? error.errors.find(({ path }) => fieldOf(path) === field)?.message : undefined;
