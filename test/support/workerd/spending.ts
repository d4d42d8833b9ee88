// Work that costs something: a worker of a provider, and a job that it completes with a report of what was spent.

import type { Body, World } from "./client.ts";

export const worker = (world: World, provider: string, more: Record<string, unknown> = {}): Promise<Body> =>
  world.ok("POST", "/presence", {
    instance: `w-${provider}`,
    status: "online",
    provider,
    tags: "",
    concurrency: 50,
    ...more,
  });

export const run = async (
  world: World,
  provider: string,
  report: Record<string, unknown>,
  model: string | null = null,
): Promise<Body> => {
  const job = await world.ok("POST", "/dispatch", { prompt: "x", provider, ...(model === null ? {} : { model }) });
  return world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: job.lease, result: "ok", ...report });
};
