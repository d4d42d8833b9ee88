// A TCP proxy in front of the server: its address stays the same while the server dies and comes back. When told to, it
// cuts connections after a random number of bytes, in the middle of a request or an answer.

import { connect, createServer, type Server, type Socket } from "node:net";

const CUT_SHARE = 0.4;
const MAX_BYTES_BEFORE_CUT = 40_000;

export class CuttingProxy {
  #upstreamPort: number | null = null;
  #isCutting = false;
  cutCount = 0;
  readonly #open = new Set<Socket>();
  readonly #random: () => number;
  readonly #server: Server;

  constructor(random: () => number) {
    this.#random = random;
    this.#server = createServer((client) => this.#carry(client));
  }

  listen(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, "127.0.0.1", () => {
        const address = this.#server.address();
        if (address === null || typeof address === "string") reject(new Error("the proxy has no port"));
        else resolve(`http://127.0.0.1:${address.port}`);
      });
    });
  }

  /** The new target; null while there is no server. Open connections are cut. */
  leadTo(url: string | null): void {
    this.#upstreamPort = url === null ? null : Number(new URL(url).port);
    for (const socket of this.#open) socket.destroy();
  }

  cut(isCutting: boolean): void {
    this.#isCutting = isCutting;
    for (const socket of this.#open) socket.destroy();
  }

  close(): void {
    this.leadTo(null);
    this.#server.close();
  }

  #carry(client: Socket): void {
    if (this.#upstreamPort === null) {
      client.resetAndDestroy();
      return;
    }
    const server = connect(this.#upstreamPort, "127.0.0.1");
    const isDoomed = this.#isCutting && this.#random() < CUT_SHARE;
    let bytesLeft = isDoomed ? Math.floor(this.#random() ** 2 * MAX_BYTES_BEFORE_CUT) : Number.POSITIVE_INFINITY;
    const end = () => {
      client.destroy();
      server.destroy();
    };
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#open.add(from);
      from.on("error", end);
      from.on("close", () => {
        this.#open.delete(from);
        end();
      });
      from.on("data", (chunk: Buffer) => {
        const carried = chunk.subarray(0, bytesLeft);
        bytesLeft -= carried.length;
        if (bytesLeft > 0) {
          if (!to.write(carried)) from.pause();
          return;
        }
        this.cutCount += 1;
        to.end(carried, end);
      });
      to.on("drain", () => from.resume());
    }
  }
}
