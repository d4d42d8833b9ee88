// Workers on WebSockets that only send signs of life: each sends one frame at a time and waits for its answer.

import { once } from "node:events";
import WebSocket from "ws";
import type { Tenant } from "./signalbox.ts";

export const PING = "ping";
const PROVIDER = "beating";
const CONNECTING_AT_A_TIME = 128;

interface Beating {
  instance: string;
  socket: WebSocket;
  answered: () => void;
}

const presenceOf = (instance: string): string =>
  JSON.stringify({ type: "presence", id: "beat", instance, provider: PROVIDER, tags: "beating", jobs: [] });

export class BeatingSockets {
  readonly #workers: Beating[] = [];
  /** Called with every frame that a worker receives, and the worker's number. */
  onFrame: (index: number, frame: string) => void = () => {};

  /** Resolves when all are registered. */
  static async connect(tenant: Tenant, count: number): Promise<BeatingSockets> {
    const all = new BeatingSockets();
    let next = 0;
    const lanes = Array.from({ length: Math.min(CONNECTING_AT_A_TIME, count) }, async () => {
      for (let index = next++; index < count; index = next++) await all.#open(tenant, index);
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
    return this.#exchange(index, presenceOf(this.#at(index).instance));
  }

  close(): void {
    for (const { socket } of this.#workers) socket.terminate();
  }

  async #open({ port, authorization }: Tenant, index: number): Promise<void> {
    const instance = `beating-${index}`;
    const url = `ws://127.0.0.1:${port}/api/workers/${instance}/connect`;
    const socket = new WebSocket(url, { headers: { authorization }, perMessageDeflate: false });
    const worker: Beating = { instance, socket, answered: () => {} };
    const welcomed = new Promise<void>((resolve) => {
      worker.answered = resolve;
    });
    socket.on("message", (frame) => {
      worker.answered();
      this.onFrame(index, String(frame));
    });
    await once(socket, "open");
    await welcomed;
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
