// One of our workerd processes: kept running, and known as up from its first answer until it ends.

import { get } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { clearSockets } from "../data/sockets.ts";
import { type Kept, keepRunning, WORKERD_PACE } from "./keep-running.ts";
import type { Exit, Supervised } from "./supervised.ts";
import { startWorkerd } from "./workerd.ts";

const PROBE_EVERY_MS = 10;
const PROBE_WITHIN_MS = 2_000;
const LOOK_AGAIN_MS = 5;
/** workerd has nothing to save when it stops, but finishes requests in progress. */
const STOP_GRACE_MS = 2_000;

export interface ChildServer {
  readonly isUp: () => boolean;
  readonly earlyExit: () => Exit | null;
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** Ends the process, which is then started again. */
  readonly renew: () => void;
  readonly stop: () => Promise<void>;
}

interface Child {
  /** The process's name, at the start of a sentence. */
  readonly what: string;
  readonly config: string;
  readonly environment: Record<string, string>;
  readonly sockets: readonly string[];
  /** The path that is polled until it answers; on the first of its sockets. */
  readonly probePath: string;
  readonly inspectorPort?: number | undefined;
}

export const startChildServer = (child: Child): ChildServer => {
  const [probed = ""] = child.sockets;
  let hasServed = false;
  let isUp = false;
  let early: Exit | null = null;

  const watch = async (running: Supervised): Promise<void> => {
    running.exited
      .then((exit) => {
        isUp = false;
        if (!hasServed) early ??= exit;
      })
      .catch(() => {
        early ??= { code: null, signal: null };
      });
    while (running.isRunning() && !(await doesAnswer(probed, child.probePath))) await pause(PROBE_EVERY_MS);
    isUp = running.isRunning();
    hasServed ||= isUp;
  };
  const kept: Kept = keepRunning(child.what, WORKERD_PACE, () => {
    clearSockets(...child.sockets);
    const running = startWorkerd(child.config, child.environment, child.inspectorPort);
    void watch(running);
    return running;
  });
  return {
    isUp: () => isUp,
    earlyExit: () => early,
    freeze: () => kept.current().freeze(),
    thaw: () => kept.current().thaw(),
    renew: () => kept.renew(STOP_GRACE_MS),
    stop: () => kept.stop(STOP_GRACE_MS),
  };
};

/** Resolves when all of them are up, or one has ended before it served. */
export const untilUp = async (children: readonly ChildServer[]): Promise<void> => {
  const isOver = () => children.every((child) => child.isUp()) || children.some((child) => child.earlyExit() !== null);
  while (!isOver()) await pause(LOOK_AGAIN_MS);
};

const doesAnswer = (socketPath: string, path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const asked = get({ socketPath, path, agent: false, timeout: PROBE_WITHIN_MS }, (answer) => {
      answer.resume();
      resolve(true);
    });
    asked.on("timeout", () => asked.destroy());
    asked.on("error", () => resolve(false));
  });
