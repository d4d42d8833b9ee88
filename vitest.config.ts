import { availableParallelism } from "node:os";
import path from "node:path";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const ROOT = import.meta.dirname;
/** A build machine that is busy for a moment is no failure; what is broken fails twice. */
const RETRIES = process.env.CI ? 1 : 0;
const IN_WORKERD = "test/**/*.workers.test.ts";
/** Of both projects: one more than there are cores, as most tests wait for servers. A process runs many files. */
const POOL = { maxWorkers: availableParallelism() + 1, isolate: false };

/** Two kinds of tests: plain Node, and real workerd (`*.workers.test.ts`) with the bindings of wrangler.toml. */
export default defineConfig(async () => ({
  test: {
    projects: [
      {
        test: {
          name: "node",
          ...POOL,
          retry: RETRIES,
          include: ["test/**/*.test.ts"],
          exclude: [IN_WORKERD],
          testTimeout: 30_000,
        },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              bindings: {
                TEST_MIGRATIONS: await readD1Migrations(path.join(ROOT, "migrations")),
                MODEL_SEED: process.env.MODEL_SEED ?? "",
                MODEL_RUNS: process.env.MODEL_RUNS ?? "",
                SERVICE_LOG: "off",
                SERVICE_ROOT_KEY: "root-key-of-the-tests",
                SERVICE_SIGNING_SECRET: "signing-secret-of-the-tests",
              },
            },
          }),
        ],
        test: {
          name: "workerd",
          ...POOL,
          retry: RETRIES,
          include: [IN_WORKERD],
          setupFiles: ["./test/support/migrate.ts"],
          testTimeout: 30_000,
        },
      },
    ],
  },
}));
