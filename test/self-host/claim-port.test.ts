// The port to serve on: whoever holds it for a moment is waited for, and a refusal says what to change.

import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { afterEach, expect, it } from "vitest";
import { claimPort, listenOn } from "../../self-host/claim-port.ts";
import { freePort } from "../support/self-hosted.ts";

const HOST = "127.0.0.1";
const servers: Server[] = [];

const newServer = (): Server => {
  const server = createServer();
  servers.push(server);
  return server;
};

const holding = async (port: number): Promise<Server> => {
  const server = newServer().listen(port, HOST);
  await once(server, "listening");
  return server;
};

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

it("listens as soon as the port is released", async () => {
  const port = await freePort();
  const holder = await holding(port);
  const server = newServer();
  const listening = listenOn(server, HOST, port);
  expect(server.listening).toBe(false);
  setTimeout(() => holder.close(), 150);
  await listening;
  expect(server.address()).toMatchObject({ address: HOST, port });
});

it("names the port that stays in use, and what to do", async () => {
  const port = await freePort();
  await holding(port);
  await expect(claimPort(HOST, port)).rejects.toThrow(
    `Port ${port} on ${HOST} is in use. Stop what uses it, or set PORT to another one.`,
  );
});

it("names an address that is not this machine's, without a wait", async () => {
  await expect(claimPort("203.0.113.1", 8787)).rejects.toThrow(
    /^Cannot listen on 203\.0\.113\.1, port 8787: .*EADDRNOTAVAIL.* Set SERVICE_HOST or PORT to another one\.$/,
  );
});

it("finds a port that is free, and leaves it free", async () => {
  const port = await claimPort(HOST, 0);
  expect(port).toBeGreaterThan(0);
  await listenOn(newServer(), HOST, port);
});
