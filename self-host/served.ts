// A running server, whichever process its edge is in.

import type { BlockList } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Proxies } from "../worker/dispatcher.ts";
import type { Project } from "./build/project.ts";
import { describeExit, type Exit } from "./children/supervised.ts";
import type { DataDir } from "./data/data-dir.ts";
import { ExitError } from "./exit-error.ts";

const READY_WAIT_MS = 60_000;
const READY_POLL_MS = 25;

/** What a server is started with. */
export interface HomePlan {
  readonly project: Project;
  readonly dir: DataDir;
  readonly environment: Record<string, string>;
  readonly processCount: number;
  /** Whether old jobs go to the archive's folder. */
  readonly keepsArchive: boolean;
  /** `<tenant>/<instance>` of the worker that GET /health waits for at first. */
  readonly awaited: string | undefined;
  /** Certificate authorities that are trusted besides the public ones, each in PEM. */
  readonly certificates: readonly string[];
  /** The bound of V8's heap of each process with tenants; undefined: V8's own. */
  readonly heapMib: number | undefined;
  /** Where the first process with tenants can be inspected; undefined: nowhere. */
  readonly inspectorPort: number | undefined;
  /** Whose X-Forwarded-For names the client. */
  readonly trustedProxies: BlockList;
  /** By what to reach other machines; null: by nothing. */
  readonly proxies: Proxies | null;
}

export interface Served {
  readonly url: string;
  /**
   * How a process ended that never served; null if none did. It makes the start fail; a later death does not stop the
   * server.
   */
  readonly earlyExit: () => Exit | null;
  /** Pauses every process that writes to the data folder, and resumes it. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** Ends the processes with the tenants, which are then started again. */
  readonly renew: () => void;
  /** Answers at another address from now on, with the worker that GET /health waits for there; absent: it cannot. */
  readonly moveTo?: (address: Address, awaited: string | undefined) => Promise<Served>;
  /** Resolves when every process has ended and its files are closed. */
  readonly stop: () => Promise<void>;
}

export interface Address {
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

/**
 * Resolves when GET /health is 200; fails if `ending` is aborted, a process ends before it served, or it takes too
 * long.
 */
export const waitUntilHealthy = async (served: Served, ending?: AbortSignal): Promise<void> => {
  const { url } = served;
  const giveUpAt = Date.now() + READY_WAIT_MS;
  while (Date.now() < giveUpAt) {
    ending?.throwIfAborted();
    const exit = served.earlyExit();
    if (exit !== null) throw new ExitError(`workerd ${describeExit(exit)} before it served.`);
    const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(READY_WAIT_MS) }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.status === 200) return;
    await pause(READY_POLL_MS);
  }
  throw new ExitError(`GET ${url}/health did not answer 200 in time.`);
};
