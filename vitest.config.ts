import { availableParallelism } from "node:os";
import path from "node:path";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { PATIENCE } from "./test/support/patience.ts";

const ROOT = import.meta.dirname;
/** A busy build machine is not a failure; a real defect fails twice. */
const RETRIES = process.env.CI ? 1 : 0;
const IN_WORKERD = "test/**/*.workers.test.ts";
/** For both projects: one more than there are cores, because most tests wait for servers. A process runs many files. */
const POOL = { maxWorkers: availableParallelism() + 1, isolate: false };
const POLLING = { poll: PATIENCE };

/** Tests that only use HTTP, so that they can run against the app in either home. */
const OF_THE_API = [
  "test/http/**/*.workers.test.ts",
  "test/front-door/requests.workers.test.ts",
  "test/front-door/kept-requests.workers.test.ts",
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

/** Tests of a deployment with several history databases. */
const OF_DATABASES = "test/databases/**/*.workers.test.ts";

interface InWorkerd {
  readonly home: "node" | "workerd";
  readonly include: string[];
  readonly exclude?: string[];
  /** The databases beside `DB`, by binding. */
  readonly databases?: Record<string, string>;
}

const inWorkerd = async (name: string, { home, include, exclude = [], databases = {} }: InWorkerd) => ({
  plugins: [
    cloudflareTest({
      wrangler: { configPath: "./wrangler.toml" },
      miniflare: {
        // Not the binding of an archive: only its own tests keep one.
        r2Buckets: ["TEST_ARCHIVE"],
        d1Databases: databases,
        bindings: {
          TEST_MIGRATIONS: await readD1Migrations(path.join(ROOT, "migrations")),
          TEST_HOME: home,
          SHARED_RELAYS: home === "node" ? "1" : "",
          RACE_SEED: process.env.RACE_SEED ?? "",
          RACE_RUNS: process.env.RACE_RUNS ?? "",
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
    exclude,
    setupFiles: ["./test/support/migrate.ts"],
    testTimeout: 30_000,
  },
});

/**
 * Plain Node; real workerd (`*.workers.test.ts`) with the bindings of wrangler.toml; and the tests of the API once
 * more, against the app with its bindings in Node, self-hosted; and a deployment with several databases.
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
      await inWorkerd("workerd", { home: "workerd", include: [IN_WORKERD], exclude: [OF_DATABASES] }),
      await inWorkerd("node-edge", { home: "node", include: OF_THE_API }),
      await inWorkerd("databases", {
        home: "workerd",
        include: [OF_DATABASES],
        databases: { DB_1: "history-1", DB_2: "history-2" },
      }),
    ],
  },
}));
