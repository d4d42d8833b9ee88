// The process that runs jobs.

import type { Room } from "./room.ts";

export const WORKER_ROOMS: readonly Room[] = [
  { places: ["worker/apis"], may: ["contract/*"], packages: [] },
  {
    places: [
      "worker/runtimes/runtime.ts",
      "worker/runtimes/backend.ts",
      "worker/runtimes/chat-body.ts",
      "worker/runtimes/chat-runtime.ts",
      "worker/runtimes/error-body.ts",
      "worker/runtimes/error-causes.ts",
      "worker/runtimes/exchange.ts",
      "worker/runtimes/failure.ts",
      "worker/runtimes/form-body.ts",
      "worker/runtimes/hide-secret.ts",
      "worker/runtimes/model-names.ts",
      "worker/runtimes/openai-backend.ts",
      "worker/runtimes/request-failure.ts",
      "worker/runtimes/stream-reader.ts",
      "worker/runtimes/whole-answer.ts",
      "worker/load-input.ts",
      "worker/run-job.ts",
    ],
    may: ["contract/*", "worker/apis"],
    packages: ["zod"],
  },
  {
    places: ["worker/runtimes"],
    may: ["providers", "contract/*", "worker/apis", "worker/runtimes/runtime.ts"],
    packages: ["@ai-sdk/anthropic", "@ai-sdk/google", "ai", "node:", "undici", "zod"],
  },
  {
    places: ["worker/session.ts", "worker/coordinator-socket.ts", "worker/backoff.ts"],
    may: ["contract/*"],
    packages: ["ws"],
  },
  { places: ["worker/models"], may: ["contract/*", "worker/runtimes", "worker/session.ts"], packages: ["node:"] },
  { places: ["worker/openings"], may: ["contract/*"], packages: ["node:", "zod"] },
  {
    places: ["worker/streams"],
    may: ["contract/*", "worker/runtimes", "worker/session.ts"],
    packages: ["node:", "ws"],
  },
  {
    places: ["worker/job-facts.ts", "worker/job-files.ts"],
    may: ["contract/*", "worker/runtimes/runtime.ts", "worker/runtimes", "worker/session.ts"],
    packages: ["node:"],
  },
  {
    places: ["worker/exec"],
    may: ["contract/*", "worker/apis", "worker/runtimes/runtime.ts", "worker/session.ts", "worker/job-facts.ts"],
    packages: ["node:", "zod"],
  },
  {
    places: ["worker"],
    may: [
      "log",
      "contract/*",
      "worker/runtimes/runtime.ts",
      "worker/runtimes",
      "worker/session.ts",
      "worker/models",
      "worker/openings",
      "worker/streams",
      "worker/job-facts.ts",
      "worker/exec",
    ],
    packages: ["node:", "ws", "yaml", "zod"],
  },
  {
    places: ["worker/serve"],
    may: ["contract/*", "worker/apis", "worker/runtimes/runtime.ts", "worker/job-facts.ts", "worker/exec", "worker"],
    packages: ["node:", "zod"],
  },
];
