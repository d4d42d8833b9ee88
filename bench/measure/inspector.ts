// Inspects a running workerd with the Chrome DevTools protocol: profiles, counts of calls, the heap.

import { once } from "node:events";
import WebSocket from "ws";
import type { Bundle } from "./bundle.ts";

interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string; lineNumber: number; columnNumber: number };
  children?: number[];
}

interface CpuProfile {
  nodes: ProfileNode[];
  samples: number[];
  timeDeltas: number[];
}

const SAMPLE_EVERY_MICROSECONDS = 200;

/** One service's isolate, over the DevTools protocol. */
export class Inspector {
  readonly #socket: WebSocket;
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.setMaxListeners(0);
  }

  static async open(port: number, service: string): Promise<Inspector> {
    const listed = await fetch(`http://127.0.0.1:${port}/json`);
    const targets = (await listed.json()) as { id: string; title: string; webSocketDebuggerUrl: string }[];
    const target = targets.find(({ id, title }) => id.includes(service) || title.includes(service));
    if (target === undefined) throw new Error(`nothing to inspect: ${JSON.stringify(targets)}`);
    const socket = new WebSocket(target.webSocketDebuggerUrl, { maxPayload: 1024 ** 3 });
    await once(socket, "open");
    return new Inspector(socket);
  }

  send(method: string, params = {}): Promise<Record<string, unknown>> {
    const id = ++this.#lastId;
    this.#socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => {
      const hear = (frame: WebSocket.RawData) => {
        const message = JSON.parse(String(frame));
        if (message.id !== id) return;
        this.#socket.off("message", hear);
        if (message.error === undefined) resolve(message.result);
        else reject(new Error(`${method}: ${message.error.message}`));
      };
      this.#socket.on("message", hear);
    });
  }

  /** A CPU profile during `work`. */
  async profiled(work: () => Promise<void>): Promise<CpuProfile> {
    await this.send("Profiler.enable");
    await this.send("Profiler.setSamplingInterval", { interval: SAMPLE_EVERY_MICROSECONDS });
    await this.send("Profiler.start");
    await work();
    const { profile } = await this.send("Profiler.stop");
    return profile as CpuProfile;
  }

  /** The JavaScript heap in use, in bytes, once its garbage is collected, which holds up what runs there. */
  async heapBytes(): Promise<number> {
    await this.send("HeapProfiler.collectGarbage");
    return (await this.send("Runtime.getHeapUsage")).usedSize as number;
  }

  close(): void {
    this.#socket.close();
  }
}

export interface Share {
  name: string;
  self: number;
  total: number;
}

/** Each function's share of the samples, alone and with what it calls, greatest first. */
export const sharesOf = ({ nodes, samples }: CpuProfile, bundle: Bundle): Share[] => {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parentOf = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const shares = new Map<string, Share>();
  const shareOf = (name: string) => {
    const share = shares.get(name) ?? { name, self: 0, total: 0 };
    shares.set(name, share);
    return share;
  };
  for (const sample of samples) {
    const seen = new Set<string>();
    for (let id: number | undefined = sample; id !== undefined; id = parentOf.get(id)) {
      const frame = byId.get(id)?.callFrame;
      const name = frame === undefined ? "?" : nameOf(frame, bundle);
      if (id === sample) shareOf(name).self += 1 / samples.length;
      if (!seen.has(name)) shareOf(name).total += 1 / samples.length;
      seen.add(name);
    }
  }
  return [...shares.values()].sort((one, other) => other.self - one.self);
};

/** Of our code by its place in the source; the platform's own by its name alone. */
const nameOf = ({ functionName, url, lineNumber, columnNumber }: ProfileNode["callFrame"], bundle: Bundle): string => {
  const name = functionName || "(anonymous)";
  const place = url.endsWith("index.js") ? bundle.placeAt(lineNumber, columnNumber) : null;
  return place === null ? name : `${name} ${place}`;
};
