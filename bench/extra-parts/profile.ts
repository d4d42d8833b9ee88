// Where the time goes: a CPU profile of the serving workerd under each kind of load with 32 clients. Prints the
// functions that take most, and keeps the profiles for a browser's DevTools. Only when asked for, because profiling
// slows the server.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startInspected } from "../inspected.ts";
import { httpJobs, socketJobs } from "../jobs.ts";
import { Bundle } from "../measure/bundle.ts";
import { type Share, sharesOf } from "../measure/inspector.ts";
import type { Bench } from "../plan.ts";
import { openSignalbox } from "../signalbox.ts";

const CLIENTS = 32;
const SHOWN = 45;

export const profile = async ({ folder, pace }: Bench): Promise<void> => {
  const dataDir = path.join(folder, "profile");
  const served = await startInspected(dataDir);
  const bundle = new Bundle();
  const kept = mkdtempSync(path.join(tmpdir(), "signalbox-profiles-"));
  const longer = { ...pace, measureMs: Math.max(pace.measureMs, 3_000) };
  try {
    for (const way of ["http", "dispatch", "batch"] as const) {
      const place = await openSignalbox(served.port);
      let jobsPerSecond = 0;
      const taken = await served.inspector.profiled(async () => {
        const rate =
          way === "http" ? await httpJobs([place], CLIENTS, longer) : await socketJobs([place], CLIENTS, longer, way);
        jobsPerSecond = rate.jobsPerSecond;
      });
      writeFileSync(path.join(kept, `${way}.cpuprofile`), JSON.stringify(taken));
      print(`${way}, ${Math.round(jobsPerSecond)} jobs/s while profiled`, sharesOf(taken, bundle));
    }
  } finally {
    await served.stop();
  }
  console.log(`Profiles: ${kept}`);
};

const percent = (share: number) => `${(share * 100).toFixed(1)} %`.padStart(7);
const lines = (shares: readonly Share[]) =>
  shares.slice(0, SHOWN).map(({ name, self, total }) => `${percent(self)} ${percent(total)}  ${name}`);

const print = (title: string, shares: readonly Share[]): void => {
  console.log([`\n${title}`, "   self   total  function, by its own time", ...lines(shares)].join("\n"));
  const byTotal = shares.toSorted((one, other) => other.total - one.total);
  console.log(["   self   total  function, with what it calls", ...lines(byTotal)].join("\n"));
};
