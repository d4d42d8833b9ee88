import type { Env } from "../../src/env.ts";

declare global {
  namespace Cloudflare {
    interface Env extends ServiceEnv {
      readonly TEST_MIGRATIONS: D1Migration[];
      /** How the model runs; empty for its defaults. */
      readonly RACE_SEED: string;
      readonly RACE_RUNS: string;
      /** The home of the app that requests go to: `node`, or the deployed worker's. */
      readonly TEST_HOME: string;
    }
    interface GlobalProps {
      mainModule: typeof import("../../src/index.ts");
    }
  }
  type ServiceEnv = import("../../src/env.ts").Env;
  type D1Migration = import("cloudflare:test").D1Migration;
}

export type { Env };
