// Where the time goes: a CPU profile of the serving workerd under each kind of load at 32 clients. Prints the functions
// that take most, and keeps the profiles (a browser's DevTools open them). Only when asked for: profiling slows.

import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { profiled, type Share, sharesOf } from "../inspector.ts";
import { httpJobs, socketJobs } from "../jobs.ts";
import type { Bench } from "../plan.ts";
import { freePort, startProcess, WORKERD } from "../processes.ts";
import { openSignalbox, servingEnvironment, startSignalbox } from "../signalbox.ts";

const CLIENTS = 32;
const SHOWN = 45;
const SERVICE = "edge";

export async function profile({ folder, pace }: Bench): Promise<void> {
  const dataDir = path.join(folder, "profile");
  const prepared = await startSignalbox(dataDir);
  await prepared.stop();
  const inspectorPort = await freePort();
  const signingSecret = readFileSync(path.join(dataDir, "signing.secret"), "utf8").trim();
  const served = await startProcess({
    command: WORKERD,
    args: ["serve", "--experimental", `-i127.0.0.1:${inspectorPort}`, path.join(dataDir, "serving.capnp")],
    port: prepared.port,
    env: { ...servingEnvironment(), SERVICE_SIGNING_SECRET: signingSecret },
  });
  const bundle = readFileSync(path.resolve(import.meta.dirname, "../../dist/worker/index.js"), "utf8");
  const kept = mkdtempSync(path.join(tmpdir(), "signalbox-profiles-"));
  const longer = { ...pace, measureMs: Math.max(pace.measureMs, 3_000) };
  try {
    for (const way of ["http", "dispatch", "batch"] as const) {
      const place = await openSignalbox(served.port);
      let jobsPerSecond = 0;
      const taken = await profiled(inspectorPort, SERVICE, async () => {
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
}

const percent = (share: number) => `${(share * 100).toFixed(1)} %`.padStart(7);
const lines = (shares: readonly Share[]) =>
  shares.slice(0, SHOWN).map(({ name, self, total }) => `${percent(self)} ${percent(total)}  ${name}`);

function print(title: string, shares: readonly Share[]): void {
  console.log([`\n${title}`, "   self   total  function, by its own time", ...lines(shares)].join("\n"));
  const byTotal = shares.toSorted((one, other) => other.total - one.total);
  console.log(["   self   total  function, with what it calls", ...lines(byTotal)].join("\n"));
}
