// What a job costs the object's own code, without the platform: CPU microseconds in each way that it can go.

import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { figure } from "../figures.ts";
import type { Bench } from "../plan.ts";

/** A process of its own, because it replaces the platform. */
const MAIN = path.join(import.meta.dirname, "../object/main.ts");

export const object = async ({ say }: Bench): Promise<void> => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--disable-warning=ExperimentalWarning", MAIN]);
  for (const [what, signalbox] of Object.entries(JSON.parse(stdout) as Record<string, number>))
    say(figure({ part: "object", what, unit: "µs/job", signalbox, note: "CPU of the object's code alone" }));
};
