// What starts, measures and ships the rest.

import type { Room } from "./room.ts";

export const TOOLS_ROOMS: readonly Room[] = [
  // It also runs in browsers.
  { places: ["sdk"], may: ["contract/*"], packages: [] },
  { places: ["cli"], may: ["contract/*", "sdk"], packages: ["node:"] },
  { places: ["cli/verbs"], may: ["contract/*", "worker", "worker/session", "sdk", "cli"], packages: ["node:"] },
  { places: ["cli/main.ts", "cli/verbs.ts"], may: ["contract/*", "sdk", "cli", "cli/verbs"], packages: ["node:"] },
  // What the server needs when it starts from a checkout, and the scripts, too.
  {
    places: ["self-host/build", "self-host/exit-error.ts", "self-host/run-command.ts", "self-host/files-below.ts"],
    may: ["contract/*"],
    packages: ["esbuild", "node:", "wrangler", "zod"],
  },
  {
    places: ["self-host"],
    may: [
      "contract/*",
      "domain/*",
      "log",
      "durable-objects/store/*",
      "src/env.ts",
      "src/catalog/url-policy.ts",
      "src/catalog",
      "src/sign-in",
      "self-host/build",
    ],
    packages: ["node:"],
  },
  { places: ["self-host/edge/turns"], may: ["src/env.ts", "src/http"], packages: ["node:"] },
  {
    places: ["self-host/edge"],
    may: [
      "self-host/edge/turns",
      "domain/*",
      "contract/*",
      "log",
      "durable-objects/api.ts",
      "durable-objects/calls",
      "durable-objects/sockets",
      "src/env.ts",
      "src/http",
      "src",
      "self-host",
    ],
    packages: ["@hono/node-server", "node:", "ws"],
  },
  { places: ["scripts/backup"], may: ["self-host/build", "self-host"], packages: ["node:"] },
  { places: ["scripts/deploy"], may: ["domain/*", "self-host/build"], packages: ["node:"] },
  { places: ["scripts/pictures"], may: [], packages: [] },
  {
    places: ["scripts"],
    may: [
      "domain/*",
      "log",
      "providers",
      "src/catalog",
      "self-host/build",
      "self-host",
      "self-host/edge",
      "scripts/backup",
      "scripts/deploy",
      "scripts/pictures",
      "test",
    ],
    packages: ["@pydantic/genai-prices", "node:", "playwright-core"],
  },
  // It measures the router's choice and the catalog's sync alone, so it imports these rooms.
  { places: ["bench/measure"], may: [], packages: ["node:", "ws"] },
  {
    places: ["bench"],
    may: ["bench/measure", "domain/*", "contract/*", "migrations", "src/catalog/vault", "src/catalog"],
    packages: ["@anthropic-ai/sdk", "drizzle-orm", "esbuild", "miniflare", "node:", "openai", "ws"],
  },
  { places: ["bench/floor"], may: ["bench", "bench/measure"], packages: ["cloudflare:workers", "esbuild", "node:"] },
  { places: ["bench/peers"], may: ["bench", "bench/measure"], packages: ["bullmq", "node:", "pg-boss"] },
  {
    places: ["bench/object"],
    may: ["contract/*", "durable-objects/sockets", "bench"],
    packages: ["node:"],
  },
  { places: ["bench/library"], may: ["bench", "bench/peers", "sdk"], packages: [] },
  { places: ["bench/hostile"], may: ["contract/*", "bench"], packages: ["node:", "ws"] },
  { places: ["bench/dashboard"], may: ["contract/*", "bench"], packages: ["playwright-core"] },
  {
    places: ["bench/parts"],
    may: ["domain/*", "bench", "bench/measure", "bench/floor", "bench/peers"],
    packages: ["node:"],
  },
  {
    places: ["bench/extra-parts"],
    may: ["domain/*", "bench", "bench/measure", "bench/dashboard", "bench/hostile", "bench/parts"],
    packages: ["node:", "playwright-core", "ws"],
  },
  { places: ["bench/main.ts"], may: ["bench", "bench/floor", "bench/parts", "bench/extra-parts"], packages: ["node:"] },
];
