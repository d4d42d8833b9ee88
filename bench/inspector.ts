// The profiler of a running workerd, by the Chrome DevTools protocol.

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

/** Profiles the named service while `work` goes on. */
export async function profiled(port: number, service: string, work: () => Promise<void>): Promise<CpuProfile> {
  const listed = await fetch(`http://127.0.0.1:${port}/json`);
  const targets = (await listed.json()) as { id: string; title: string; webSocketDebuggerUrl: string }[];
  const target = targets.find(({ id, title }) => id.includes(service) || title.includes(service));
  if (target === undefined) throw new Error(`nothing to profile: ${JSON.stringify(targets)}`);
  const socket = new WebSocket(target.webSocketDebuggerUrl, { maxPayload: 1024 ** 3 });
  await once(socket, "open");
  let lastId = 0;
  const send = (method: string, params = {}): Promise<Record<string, unknown>> => {
    const id = ++lastId;
    socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => {
      const hear = (frame: WebSocket.RawData) => {
        const message = JSON.parse(String(frame));
        if (message.id !== id) return;
        socket.off("message", hear);
        if (message.error === undefined) resolve(message.result);
        else reject(new Error(`${method}: ${message.error.message}`));
      };
      socket.on("message", hear);
    });
  };
  await send("Profiler.enable");
  await send("Profiler.setSamplingInterval", { interval: SAMPLE_EVERY_MICROSECONDS });
  await send("Profiler.start");
  await work();
  const { profile } = await send("Profiler.stop");
  socket.close();
  return profile as CpuProfile;
}

export interface Share {
  name: string;
  self: number;
  total: number;
}

/** Each function's share of the samples, by itself and with what it calls, the greatest first. */
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

/** The bundler names functions by a call around them, which the profiler does not see: their line tells. */
function nameOf(
  { functionName, lineNumber, columnNumber }: ProfileNode["callFrame"],
  lines: readonly string[],
): string {
  if (lineNumber <= BUILT_IN || (lineNumber === 0 && columnNumber <= 0)) return functionName || "(native)";
  const named = functionName || /([\w$#]+)\s*[=:(]/.exec(lines[lineNumber] ?? "")?.[1] || "(anonymous)";
  return `${named} :${lineNumber + 1}`;
}
