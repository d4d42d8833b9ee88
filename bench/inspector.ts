// Inspects a running workerd with the Chrome DevTools protocol: profiles, counts of calls, the heap.

import { once } from "node:events";
import WebSocket from "ws";

export interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string; lineNumber: number; columnNumber: number };
  children?: number[];
}

export interface CpuProfile {
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

  /** How often each of the functions was called during `work`: exact, by breakpoints that count and continue. */
  async entriesInto(functions: readonly Place[], work: () => Promise<void>): Promise<Map<string, number>> {
    const counts = new Map(functions.map(({ name }) => [name, 0]));
    const hear = (frame: WebSocket.RawData) => {
      const { method, params } = JSON.parse(String(frame));
      if (method !== "Runtime.consoleAPICalled" || params.args[0]?.value !== COUNTED) return;
      const name = params.args[1].value;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    };
    await this.send("Runtime.enable");
    await this.send("Debugger.enable");
    for (const { name, line } of functions) {
      const condition = `(console.debug(${JSON.stringify(COUNTED)}, ${JSON.stringify(name)}), false)`;
      const where = { lineNumber: line, urlRegex: "index\\.js$", condition };
      const { locations } = (await this.send("Debugger.setBreakpointByUrl", where)) as { locations: unknown[] };
      if (locations.length === 0) throw new Error(`there is no way to count calls of ${name}`);
    }
    this.#socket.on("message", hear);
    await work();
    await this.send("Debugger.disable");
    await this.send("Runtime.disable");
    this.#socket.off("message", hear);
    return counts;
  }

  /** The JavaScript heap in use, in bytes, including garbage. */
  async heapBytes(): Promise<number> {
    return (await this.send("Runtime.getHeapUsage")).usedSize as number;
  }

  close(): void {
    this.#socket.close();
  }
}

export interface Place {
  name: string;
  /** The first line of its body, counted from 0. */
  line: number;
}

const COUNTED = "bench: entered";

/** The methods of a class in the bundle. */
export function methodsOf(className: string, source: string): Place[] {
  const lines = source.split("\n");
  const from = lines.findIndex((line) => line.startsWith(`var ${className} = class`));
  const to = lines.findIndex((line, index) => index > from && line === "};");
  const places = lines.slice(from, to).flatMap((line, index) => {
    const name = /^ {2}(?:async )?(#?\w+)\(.*\) \{$/.exec(line)?.[1];
    return name === undefined ? [] : [{ name: `${className}.${name}`, line: from + index + 1 }];
  });
  if (from === -1 || places.length === 0) throw new Error(`the bundle has no class ${className}`);
  return places;
}

export interface Share {
  name: string;
  self: number;
  total: number;
}

/** Each function's share of the samples, alone and with what it calls, greatest first. */
export function sharesOf({ nodes, samples }: CpuProfile, source: string): Share[] {
  const lines = source.split("\n");
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
      const name = frame === undefined ? "?" : nameOf(frame, lines);
      if (id === sample) shareOf(name).self += 1 / samples.length;
      if (!seen.has(name)) shareOf(name).total += 1 / samples.length;
      seen.add(name);
    }
  }
  return [...shares.values()].sort((one, other) => other.self - one.self);
}

const BUILT_IN = -1;

/** The bundler names functions by a call around them, which the profiler does not see; the line identifies them. */
function nameOf(
  { functionName, lineNumber, columnNumber }: ProfileNode["callFrame"],
  lines: readonly string[],
): string {
  if (lineNumber <= BUILT_IN || (lineNumber === 0 && columnNumber <= 0)) return functionName || "(native)";
  const named = functionName || /([\w$#]+)\s*[=:(]/.exec(lines[lineNumber] ?? "")?.[1] || "(anonymous)";
  return `${named} :${lineNumber + 1}`;
}
