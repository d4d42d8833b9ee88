// The port that the server listens on.

import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { ExitError } from "./exit-error.ts";

const PORT_WAIT_MS = 3_000;
const PORT_POLL_MS = 100;

/**
 * Makes the server listen, once the port is free: a server that was just killed needs a moment to release it, and any
 * connection that leaves this machine may hold it for one.
 */
export const listenOn = async (server: Server, host: string, port: number): Promise<void> => {
  const giveUpAt = Date.now() + PORT_WAIT_MS;
  for (;;) {
    try {
      server.listen(port, host);
      await once(server, "listening");
      return;
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

/** The port to serve on, once it is free; 0 becomes a free one. */
export const claimPort = async (host: string, port: number): Promise<number> => {
  const probe = createServer();
  await listenOn(probe, host, port);
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  return typeof address === "object" && address ? address.port : port;
};
