// Starting workerd, and waiting until its service answers.

import { createRequire } from "node:module";
import { createServer } from "node:net";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ExitError } from "./exit-error.ts";
import type { Served } from "./served.ts";
import { describeExit, type Supervised, supervise } from "./supervised.ts";

/** The native binary itself: signals must reach it, not a launcher. */
export const WORKERD: string = createRequire(import.meta.url)("workerd").default;

const PORT_WAIT_MS = 3_000;
const PORT_POLL_MS = 100;
const READY_WAIT_MS = 60_000;
const READY_POLL_MS = 25;
/** The variables of our environment that workerd itself may need: where certificates are. */
const SYSTEM_VARIABLES = ["SSL_CERT_FILE", "SSL_CERT_DIR", "TZ"];

const tryPort = (host: string, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(port, host, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : port));
    });
  });

/**
 * The port to serve on (0 becomes a free one), once it is free: a server that was just killed needs a moment to release
 * it.
 */
export const claimPort = async (host: string, port: number): Promise<number> => {
  const giveUpAt = Date.now() + PORT_WAIT_MS;
  for (;;) {
    try {
      return await tryPort(host, port);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "EADDRINUSE") {
        throw new ExitError(
          `Cannot listen on ${host}, port ${port}: ${message}. Set SERVICE_HOST or PORT to another one.`,
        );
      }
      if (Date.now() > giveUpAt) {
        throw new ExitError(`Port ${port} on ${host} is in use. Stop what uses it, or set PORT to another one.`);
      }
      await pause(PORT_POLL_MS);
    }
  }
};

/** Its working directory is the data folder, so that its process can be identified. */
export const startWorkerd = (
  config: string,
  environment: Record<string, string>,
  inspectorPort?: number,
): Supervised => {
  const system = SYSTEM_VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
  const env = { ...Object.fromEntries(system), ...environment };
  const inspector = inspectorPort === undefined ? [] : [`-i127.0.0.1:${inspectorPort}`];
  return supervise("workerd", WORKERD, ["serve", "--experimental", ...inspector, config], env, path.dirname(config));
};

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
