// Workers on WebSockets that only send signs of life: each sends one frame at a time and waits for its answer. The same
// workers connect to the floor.

import { once } from "node:events";
import WebSocket from "ws";
import type { Tenant } from "./signalbox.ts";

const PING = "ping";
const PROVIDER = "beating";
const CONNECTING_AT_A_TIME = 128;

interface Beating {
  instance: string;
  socket: WebSocket;
  answered: () => void;
}

/** What a server expects of such a worker. */
interface BeatingWire {
  url: (instance: string) => string;
  authorization: string;
  presenceOf: (instance: string) => string;
  /** The server sends the first frame. */
  isWelcomed: boolean;
}

const signalboxWire = ({ port, authorization }: Tenant): BeatingWire => ({
  url: (instance) => `ws://127.0.0.1:${port}/api/workers/${instance}/connect`,
  authorization,
  presenceOf: (instance) =>
    JSON.stringify({ type: "presence", id: "beat", instance, provider: PROVIDER, tags: "beating", jobs: [] }),
  isWelcomed: true,
});

export class BeatingSockets {
  readonly #wire: BeatingWire;
  readonly #workers: Beating[] = [];
  /** Called with every frame that a worker receives, and the worker's number. */
  onFrame: (index: number, frame: string) => void = () => {};

  private constructor(wire: BeatingWire) {
    this.#wire = wire;
  }

  /** Resolves when all are registered. */
  static connect(tenant: Tenant, count: number): Promise<BeatingSockets> {
    return BeatingSockets.connectTo(signalboxWire(tenant), count);
  }

  static async connectTo(wire: BeatingWire, count: number): Promise<BeatingSockets> {
    const all = new BeatingSockets(wire);
    let next = 0;
    const lanes = Array.from({ length: Math.min(CONNECTING_AT_A_TIME, count) }, async () => {
      for (let index = next++; index < count; index = next++) await all.#open(index);
    });
    await Promise.all(lanes);
    return all;
  }

  get count(): number {
    return this.#workers.length;
  }

  ping(index: number): Promise<void> {
    return this.#exchange(index, PING);
  }

  presence(index: number): Promise<void> {
    return this.#exchange(index, this.#wire.presenceOf(this.#at(index).instance));
  }

  close(): void {
    for (const { socket } of this.#workers) socket.terminate();
  }

  async #open(index: number): Promise<void> {
    const { url, authorization, isWelcomed } = this.#wire;
    const instance = `beating-${index}`;
    const socket = new WebSocket(url(instance), { headers: { authorization }, perMessageDeflate: false });
    const worker: Beating = { instance, socket, answered: () => {} };
    const welcomed = new Promise<void>((resolve) => {
      worker.answered = resolve;
    });
    socket.on("message", (frame) => {
      worker.answered();
      this.onFrame(index, String(frame));
    });
    await once(socket, "open");
    if (isWelcomed) await welcomed;
    this.#workers[index] = worker;
    await this.presence(index);
  }

  #exchange(index: number, frame: string): Promise<void> {
    const worker = this.#at(index);
    if (worker.socket.readyState !== WebSocket.OPEN) throw new Error(`the socket of ${worker.instance} has closed`);
    return new Promise((resolve) => {
      worker.answered = resolve;
      worker.socket.send(frame);
    });
  }

  #at(index: number): Beating {
    const worker = this.#workers[index];
    if (worker === undefined) throw new Error(`there is no worker ${index}`);
    return worker;
  }
}
