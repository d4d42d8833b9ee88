// Waits for what comes by itself, where `expect.poll` cannot: more than one value, and outside of a test.

import { vi } from "vitest";
import { PATIENCE } from "./patience.ts";

/** What the check returns, once it no longer throws. */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, PATIENCE);
