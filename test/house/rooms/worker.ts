// The process that runs jobs.

import type { Room } from "./room.ts";

export const WORKER_ROOMS: readonly Room[] = [
  {
    places: ["worker/proxies.ts", "worker/dispatcher.ts", "worker/no-proxy.ts"],
    may: [],
    packages: ["node:", "undici"],
  },
  { places: ["worker/apis"], may: ["contract/*"], packages: [] },
  {
    places: ["worker/calls", "worker/load-input.ts", "worker/run-job.ts"],
    may: ["contract/*", "worker/apis"],
    packages: [],
  },
  {
    places: ["worker/runtimes"],
    may: ["providers", "contract/*", "worker/proxies.ts", "worker/apis", "worker/calls"],
    packages: ["@ai-sdk/anthropic", "@ai-sdk/google", "ai", "node:", "undici", "zod"],
  },
  {
    places: ["worker/session"],
    may: ["contract/*", "worker/proxies.ts"],
    packages: ["node:", "ws"],
  },
  {
    places: ["worker/models"],
    may: ["contract/*", "worker/calls", "worker/runtimes", "worker/session"],
    packages: ["node:"],
  },
  { places: ["worker/openings"], may: ["contract/*"], packages: ["node:", "zod"] },
  {
    places: ["worker/streams"],
    may: ["contract/*", "worker/runtimes", "worker/session"],
    packages: ["node:", "ws"],
  },
  {
    places: ["worker/job-facts.ts", "worker/job-files.ts"],
    may: ["contract/*", "worker/apis", "worker/calls", "worker/runtimes", "worker/session"],
    packages: ["node:"],
  },
  {
    places: ["worker/exec"],
    may: ["contract/*", "worker/apis", "worker/calls", "worker/session", "worker/job-facts.ts"],
    packages: ["node:", "zod"],
  },
  {
    places: ["worker"],
    may: [
      "log",
      "contract/*",
      "worker/proxies.ts",
      "worker/calls",
      "worker/runtimes",
      "worker/session",
      "worker/models",
      "worker/openings",
      "worker/streams",
      "worker/job-facts.ts",
      "worker/exec",
    ],
    packages: ["node:", "yaml", "zod"],
  },
  {
    places: ["worker/serve"],
    may: ["contract/*", "worker/apis", "worker/calls", "worker/job-facts.ts", "worker/exec", "worker"],
    packages: ["node:", "zod"],
  },
];
