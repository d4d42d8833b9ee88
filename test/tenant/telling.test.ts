// A broadcast to thousands of sockets, with the sockets replaced by ones that note what they are sent.

import { describe, expect, it } from "vitest";
import type { Live } from "../../durable-objects/live.ts";
import { SocketIntake } from "../../durable-objects/socket-intake.ts";
import { Sockets } from "../../durable-objects/sockets.ts";
import type { Store } from "../../durable-objects/store/open.ts";
import type { Attachment, TenantSocket } from "../../durable-objects/tenant-socket.ts";
import type { TurnRunner } from "../../durable-objects/turn-runner.ts";

const WORKERS = 1_700;

const attachmentOf = (instance: string): Attachment => ({
  kind: "worker",
  keyId: "key",
  name: "key",
  role: "worker",
  instance,
  connectedAt: 0,
  openedWith: "",
  sessionId: null,
  seq: 0,
});

function fleetOfSockets(log: string[]) {
  const accepted = Array.from({ length: WORKERS }, (_, index) => {
    const attachment = attachmentOf(`w${index}`);
    return { isOpen: true, attachment, send: () => log.push(attachment.instance) } as unknown as TenantSocket;
  });
  return { accepted, sockets: new Sockets([{ size: WORKERS, all: () => accepted }]) };
}

describe("a broadcast", () => {
  it("reaches every worker before what a worker says is handled, while other turns go on", async () => {
    const log: string[] = [];
    const { accepted, sockets } = fleetOfSockets(log);
    const run = async (): Promise<null> => {
      log.push("a message is handled");
      return null;
    };
    const turns = { run } as unknown as TurnRunner;
    const intake = new SocketIntake({
      tenant: "t",
      database: {} as D1Database,
      store: {} as Store,
      sockets,
      live: {} as Live,
      turns,
    });
    sockets.queueForAll({ type: "worker.paused", reason: "killswitch" });
    setTimeout(() => log.push("another turn"), 0);
    await intake.hear(accepted[0] as TenantSocket, JSON.stringify({ type: "presence", instance: "w0" }));
    expect(log.filter((line) => line.startsWith("w"))).toHaveLength(WORKERS);
    expect(log.at(-1)).toBe("a message is handled");
    expect(log.indexOf("another turn")).toBeLessThan(WORKERS);
    expect(sockets.isTelling).toBe(false);
    await intake.hear(accepted[1] as TenantSocket, JSON.stringify({ type: "presence", instance: "w1" }));
    expect(log.filter((line) => line === "a message is handled")).toHaveLength(2);
  });
});
