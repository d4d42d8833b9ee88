// What a killed worker leaves of its jobs goes at the next start; what a living one has stays.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { removeLeftFolders } from "../../../worker/exec/left-folders.ts";
import { SIGNALBOX } from "../../support/command-line.ts";
import { eventually } from "../../support/eventually.ts";

const folder = mkdtempSync(path.join(tmpdir(), "left-"));
const started: ChildProcess[] = [];

const places = () => readdirSync(folder).sort();

/** A worker whose job does not end; resolves once its command runs. */
const startWorker = async () => {
  const before = places();
  const args = [SIGNALBOX, "worker", "--exec", "sleep 60", "--once", '{"prompt": "hi"}'];
  const worker = spawn(process.execPath, args, { env: { ...process.env, TMPDIR: folder }, stdio: "ignore" });
  started.push(worker);
  const own = await eventually(() => {
    const added = places().filter((name) => !before.includes(name));
    expect(added).toHaveLength(2);
    const [job = ""] = added.filter((name) => !name.endsWith(".sock"));
    expect(readdirSync(path.join(folder, job))).toContain("job.json");
    return added;
  });
  return { own, worker };
};

afterEach(async () => {
  for (const worker of started.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
    worker.kill("SIGKILL");
    await once(worker, "exit");
  }
  rmSync(folder, { recursive: true, force: true });
});

test.skipIf(process.platform === "win32")(
  "a killed worker's folders are removed, a stopped worker's and others are not",
  async () => {
    const killed = await startWorker();
    const stopped = await startWorker();
    stopped.worker.kill("SIGSTOP");
    mkdirSync(path.join(folder, "signalbox-job-abcdef"));
    const others = [...stopped.own, "signalbox-job-abcdef"].sort();
    expect(await removeLeftFolders(folder)).toBe(0);

    killed.worker.kill("SIGKILL");
    await once(killed.worker, "exit");
    expect(places()).toEqual([...killed.own, ...others].sort());
    expect(await removeLeftFolders(folder)).toBe(1);
    expect(places()).toEqual(others);

    stopped.worker.kill("SIGCONT");
    stopped.worker.kill("SIGTERM");
    await once(stopped.worker, "exit");
    expect(places()).toEqual(["signalbox-job-abcdef"]);
  },
  60_000,
);
