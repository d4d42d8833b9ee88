// The port that the server listens on.

import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { ExitError } from "./exit-error.ts";

const PORT_WAIT_MS = 3_000;
const PORT_POLL_MS = 100;

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
