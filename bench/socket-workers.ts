// Workers on WebSockets that finish a job the moment they have it: one frame in, one frame out.

import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import WebSocket from "ws";

/** What a server's frames mean and how a worker answers them. */
export interface Wire {
  url: (instance: string) => string;
  authorization?: string;
  /** The first frame a worker sends, if any. */
  hello?: (instance: string) => unknown;
  /** The message that completes a job, for a message that brings one; null for any other. */
  completionOf: (message: never) => unknown;
  /** Whether a message says that a completion is stored. Throws on one that says that it is not. */
  isStored: (message: never) => boolean;
}

const SETTLE_POLL_MS = 2;

export class SocketWorkers {
  /** Jobs that came, and completions that were acknowledged. */
  assigned = 0;
  stored = 0;
  /** Hears of each frame that brings jobs. */
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
    // Heard from the first: two frames that arrive together are told in the same breath.
    let greeted = (): void => {};
    const isGreeted = new Promise<void>((resolve) => {
      greeted = resolve;
    });
    let hear = (frame: string): void => {
      if (!frame.includes('"ack"')) return;
      hear = (next) => this.#hear(wire, socket, next);
      // The frame that acknowledges the greeting may bring jobs, too; the greeting itself is no completion.
      this.stored -= 1;
      this.#hear(wire, socket, frame);
      greeted();
    };
    if (wire.hello === undefined) hear = (frame) => this.#hear(wire, socket, frame);
    socket.on("message", (frame) => hear(String(frame)));
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

  /** Waits until so few of the jobs given out are unfinished. */
  async settleTo(given: number, unfinished: number): Promise<void> {
    while (given - this.stored > unfinished) await pause(SETTLE_POLL_MS);
  }

  close(): void {
    for (const socket of this.#sockets) socket.terminate();
  }
}
