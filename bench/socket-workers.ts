// Workers on WebSockets that complete a job as soon as they have it: one frame in, one frame out.

import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import WebSocket from "ws";

/** What a server's frames mean and how a worker answers them. */
export interface Wire {
  url: (instance: string) => string;
  authorization?: string;
  /** The first frame a worker sends, if any. */
  hello?: (instance: string) => unknown;
  /** The message that completes a message's job; null if it has none. */
  completionOf: (message: never) => unknown;
  /** Whether a message says that a completion is stored. Throws if it says that it was refused. */
  isStored: (message: never) => boolean;
}

const SETTLE_POLL_MS = 2;

export class SocketWorkers {
  /** Jobs received, and completions acknowledged. */
  assigned = 0;
  stored = 0;
  /** Called for each frame with jobs. */
  onAssigned: () => void = () => {};
  readonly #sockets: WebSocket[] = [];

  static async connect(wire: Wire, instances: readonly string[]): Promise<SocketWorkers> {
    const workers = new SocketWorkers();
    await Promise.all(instances.map((instance) => workers.#open(wire, instance)));
    return workers;
  }

  async #open(wire: Wire, instance: string): Promise<void> {
    const headers = wire.authorization === undefined ? {} : { authorization: wire.authorization };
    const socket = new WebSocket(wire.url(instance), { headers, perMessageDeflate: false });
    this.#sockets.push(socket);
    // The listener is added at once: two frames that arrive together are delivered in the same tick. Jobs may come before
    // the greeting is acknowledged: leases of an earlier connection.
    let greeted = (): void => {};
    const isGreeted = new Promise<void>((resolve) => {
      greeted = resolve;
    });
    socket.on("message", (data) => {
      const frame = String(data);
      this.#hear(wire, socket, frame);
      if (frame.includes('"ack"')) greeted();
    });
    await once(socket, "open");
    if (wire.hello === undefined) return;
    socket.send(JSON.stringify(wire.hello(instance)));
    await isGreeted;
  }

  #hear(wire: Wire, socket: WebSocket, frame: string): void {
    const parsed = JSON.parse(frame);
    const replies: unknown[] = [];
    for (const message of (Array.isArray(parsed) ? parsed : [parsed]) as never[]) {
      const reply = wire.completionOf(message);
      if (reply !== null) replies.push(reply);
      else if (wire.isStored(message)) this.stored += 1;
    }
    if (replies.length === 0) return;
    this.assigned += replies.length;
    this.onAssigned();
    socket.send(JSON.stringify(replies));
  }

  /** Waits until at most this many of the jobs given out are unfinished. */
  async settleTo(given: number, unfinished: number): Promise<void> {
    while (given - this.stored > unfinished) await pause(SETTLE_POLL_MS);
  }

  close(): void {
    for (const socket of this.#sockets) socket.terminate();
  }
}
