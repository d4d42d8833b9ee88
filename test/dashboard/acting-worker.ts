// A worker that a test controls, over plain HTTP: takes a job, starts it, and ends it as told.

import { expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { World } from "./browser.ts";

interface Leased {
  readonly id: string;
  readonly lease: number;
  readonly status: string;
  readonly assigned_worker: string | null;
}

export interface ActingWorker {
  /** Waits until it gets the job, and starts it. */
  readonly start: (id: string) => Promise<Leased>;
  readonly fail: (id: string, error: { code: string; message: string; retryable: boolean }) => Promise<void>;
  readonly complete: (id: string, result: unknown, spent?: Record<string, unknown>) => Promise<void>;
}

export const register = async (
  { call }: World,
  instance: string,
  presence: Record<string, unknown> = {},
): Promise<ActingWorker> => {
  const report = () => call("POST", "/presence", { instance, provider: "acme", ...presence });
  await report();
  const start = async (id: string): Promise<Leased> => {
    const { lease } = await eventually(async () => {
      await report();
      const job = await call<Leased>("GET", `/api/jobs/${id}`);
      expect(job).toMatchObject({ status: "assigned", assigned_worker: instance });
      return job;
    });
    return call<Leased>("POST", `/api/jobs/${id}/start`, { lease });
  };
  return {
    start,
    fail: async (id, error) => {
      const { lease } = await start(id);
      await call("POST", `/api/jobs/${id}/fail`, { lease, error });
    },
    complete: async (id, result, spent = {}) => {
      const { lease } = await start(id);
      await call("POST", `/api/jobs/${id}/complete`, { lease, result, ...spent });
    },
  };
};
