// A command in a process group of its own. Ending it means the whole group: SIGTERM, and SIGKILL when its time is over.
// Invariant: no group outlives the worker, however that ends; a process that calls `setsid` itself leaves its group.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "./command.ts";
import { Keeper } from "./keeper.ts";

const IS_WINDOWS = process.platform === "win32";
const LOOK_EVERY_MS = 50;
/** What a process that left its group may still hold open is not waited for. */
const DRAIN_MS = 500;

export type Ended = { code: number | null; signal: NodeJS.Signals | null };

type GroupOptions = {
  command: Command;
  folder: string;
  env: Record<string, string>;
  graceMs: number;
};

const live = new Set<number>();
const keeper = new Keeper();
process.on("exit", () => {
  for (const pid of live) signalGroup(pid, "SIGKILL");
});

export class ProcessGroup {
  readonly child: ChildProcess;
  /** Resolves once the group is gone; rejects if the command could not be started. */
  readonly gone: Promise<Ended>;
  /** Whether Signalbox asked it to end. */
  isEnding = false;
  readonly #graceMs: number;
  #kill: NodeJS.Timeout | undefined;

  constructor({ command, folder, env, graceMs }: GroupOptions) {
    const [name = "", ...args] = command.isShell ? [command.text] : command.words;
    this.#graceMs = graceMs;
    this.child = spawn(name, args, {
      cwd: folder,
      env: { ...env, PWD: folder },
      shell: command.isShell,
      detached: !IS_WINDOWS,
      windowsHide: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    if (this.child.pid !== undefined) {
      live.add(this.child.pid);
      keeper.begin(this.child.pid, graceMs);
    }
    this.child.on("error", () => {});
    // A command that does not read its stdin closes it: no failure.
    this.child.stdin?.on("error", () => {});
    this.gone = this.#untilGone();
    this.gone.catch(() => {});
  }

  /** SIGTERM now, SIGKILL after the grace period. */
  end(graceMs = this.#graceMs): void {
    if (this.isEnding) return;
    this.isEnding = true;
    this.#terminate(graceMs);
  }

  #terminate(graceMs = this.#graceMs): void {
    const { pid } = this.child;
    if (pid === undefined || this.#kill !== undefined || !live.has(pid)) return;
    signalGroup(pid, "SIGTERM");
    this.#kill = setTimeout(() => signalGroup(pid, "SIGKILL"), graceMs);
  }

  async #untilGone(): Promise<Ended> {
    const { pid } = this.child;
    const [code, signal] = (await once(this.child, "exit")) as [number | null, NodeJS.Signals | null];
    if (pid === undefined) return { code, signal };
    // What the command left behind ends with it.
    if (isGroupAlive(pid)) this.#terminate();
    while (isGroupAlive(pid)) await delay(LOOK_EVERY_MS);
    clearTimeout(this.#kill);
    live.delete(pid);
    keeper.end(pid);
    await this.#drained();
    return { code, signal };
  }

  /** What was written before the end is read; a process that left the group may hold the pipe open for ever. */
  async #drained(): Promise<void> {
    const streams = [this.child.stdout, this.child.stderr].filter((stream) => stream !== null);
    for (const stream of streams) {
      if (stream.readableEnded || stream.destroyed) continue;
      let heardAtMs = performance.now();
      const idle = setInterval(() => {
        if (!stream.isPaused() && performance.now() - heardAtMs > DRAIN_MS) stream.destroy();
      }, DRAIN_MS / 2);
      stream.on("data", () => {
        heardAtMs = performance.now();
      });
      await once(stream, "close").catch(() => {});
      clearInterval(idle);
    }
  }
}

const signalGroup = (pid: number, signal: NodeJS.Signals): void => {
  const tree = ["/pid", String(pid), "/T"];
  if (IS_WINDOWS && signal !== "SIGKILL") {
    spawn("taskkill", tree, { stdio: "ignore", windowsHide: true }).on("error", () => {});
    return;
  }
  // To its end: at the worker's own, it would end with the worker.
  if (IS_WINDOWS && spawnSync("taskkill", [...tree, "/F"], { stdio: "ignore", windowsHide: true }).status === 0) return;
  try {
    process.kill(IS_WINDOWS ? pid : -pid, signal);
  } catch {
    // It is gone already.
  }
};

const isGroupAlive = (pid: number): boolean => {
  if (IS_WINDOWS) return false;
  try {
    process.kill(-pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  return process.platform !== "linux" || hasLivingMember(pid);
};

/** Where nobody collects orphans, as in a container without an init, dead ones stay in their group for ever. */
const hasLivingMember = (group: number): boolean => {
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [state, , pgrp] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (Number(pgrp) === group && state !== "Z" && state !== "X") return true;
    } catch {
      // It ended meanwhile.
    }
  }
  return false;
};
