// The name of a worker that was given none: the same after a restart. With the provider of a program of one's own,
// because a machine may run several of those.

import { hostname } from "node:os";

const MAX_CHARS = 128;

export const defaultInstance = (program?: string): string =>
  (program === undefined ? hostname() : `${hostname()}-${program}`)
    .replace(/[^A-Za-z0-9._:-]/g, "-")
    .slice(0, MAX_CHARS) || "worker";
