import { availableParallelism } from "node:os";
import path from "node:path";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const ROOT = import.meta.dirname;
/** A busy build machine is not a failure; a real defect fails twice. */
const RETRIES = process.env.CI ? 1 : 0;
const IN_WORKERD = "test/**/*.workers.test.ts";
/** For both projects: one more than there are cores, because most tests wait for servers. A process runs many files. */
const POOL = { maxWorkers: availableParallelism() + 1, isolate: false };
/** How long an assertion that polls waits, as a page's own waits: the default second is short beside two other files. */
const POLLING = { poll: { timeout: 15_000 } };

/** Tests that only use HTTP, so that they can run against the app in either home. */
const OF_THE_API = [
  "test/http/**/*.workers.test.ts",
  "test/front-door/requests.workers.test.ts",
  "test/front-door/large-bodies.workers.test.ts",
  "test/front-door/models.workers.test.ts",
  "test/front-door/keys-and-origins.workers.test.ts",
  "test/tenant/sockets/worker-socket.workers.test.ts",
  "test/tenant/sockets/ended-sockets.workers.test.ts",
  "test/tenant/sockets/live.workers.test.ts",
  "test/tenant/killswitch/killswitch.workers.test.ts",
  "test/tenant/killswitch/killswitch-confirmation.workers.test.ts",
  "test/tenant/jobs/attempts.workers.test.ts",
  "test/tenant/retention.workers.test.ts",
];

const inWorkerd = async (name: string, home: "node" | "workerd", include: string[]) => ({
  plugins: [
    cloudflareTest({
      wrangler: { configPath: "./wrangler.toml" },
      miniflare: {
        // Not the binding of an archive: only its own tests keep one.
        r2Buckets: ["TEST_ARCHIVE"],
        bindings: {
          TEST_MIGRATIONS: await readD1Migrations(path.join(ROOT, "migrations")),
          TEST_HOME: home,
          MODEL_SEED: process.env.MODEL_SEED ?? "",
          MODEL_RUNS: process.env.MODEL_RUNS ?? "",
          SERVICE_LOG: "off",
          // As a service that serves itself: history keeps everything.
          SERVICE_HISTORY_KEEP_DAYS: "",
          SERVICE_HISTORY_KEEP_TEXTS_DAYS: "",
          SERVICE_ROOT_KEY: "root-key-of-the-tests",
          SERVICE_SIGNING_SECRET: "signing-secret-of-the-tests",
        },
      },
    }),
  ],
  test: {
    name,
    ...POOL,
    expect: POLLING,
    retry: RETRIES,
    include,
    setupFiles: ["./test/support/migrate.ts"],
    testTimeout: 30_000,
  },
});

/**
 * Plain Node; real workerd (`*.workers.test.ts`) with the bindings of wrangler.toml; and the tests of the API once
 * more, against the app with its bindings in Node, self-hosted.
 */
export default defineConfig(async () => ({
  test: {
    projects: [
      {
        test: {
          name: "node",
          ...POOL,
          expect: POLLING,
          retry: RETRIES,
          include: ["test/**/*.test.ts"],
          exclude: [IN_WORKERD],
          setupFiles: ["./test/support/seed-properties.ts"],
          testTimeout: 30_000,
        },
      },
      await inWorkerd("workerd", "workerd", [IN_WORKERD]),
      await inWorkerd("node-edge", "node", OF_THE_API),
    ],
  },
}));
