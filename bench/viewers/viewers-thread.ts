// The thread of `viewers.ts`. Each viewer tracks what the dashboard would: which jobs are open, and which ends it has
// seen. Most frames are the same for many viewers and are parsed once.

import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import WebSocket from "ws";
import type { NumberedLiveMessage } from "../../contract/live.ts";
import { isFinal, type JobStatus } from "../../domain/words/job-status.ts";
import { percentile } from "../load.ts";
import { type Ended, type Seen, sharedNow, type Watching } from "./viewers.ts";

const CATCH_UP_MS = 10_000;
const POLL_MS = 20;

const last: { frame: Buffer; messages: NumberedLiveMessage[] } = { frame: Buffer.alloc(0), messages: [] };

const parsed = (frame: Buffer): NumberedLiveMessage[] => {
  if (!frame.equals(last.frame)) {
    const content = JSON.parse(frame.toString("utf8"));
    last.frame = frame;
    last.messages = Array.isArray(content) ? content : [content];
  }
  return last.messages;
};

class Viewer {
  readonly socket: WebSocket;
  readonly open = new Set<string>();
  readonly endShownAt = new Map<string, number>();
  frames = 0;
  bytes = 0;
  snapshots = 0;
  snapshotAt = 0;
  #lastSeq = 0;
  gaps = 0;

  constructor({ port, authorization }: Watching) {
    const url = `ws://127.0.0.1:${port}/live`;
    this.socket = new WebSocket(url, { headers: { authorization }, perMessageDeflate: false });
    this.socket.on("message", (frame: Buffer) => this.#hear(frame));
  }

  #hear(frame: Buffer): void {
    const at = sharedNow();
    this.frames += 1;
    this.bytes += frame.length;
    for (const message of parsed(frame)) {
      if (message.seq !== this.#lastSeq + 1) this.gaps += 1;
      this.#lastSeq = message.seq;
      if (message.type === "job.updated") this.#show(message.job.id, message.job.status, at);
      if (message.type !== "snapshot") continue;
      this.snapshots += 1;
      this.snapshotAt = at;
      this.open.clear();
      for (const { id, status } of message.jobs) this.#show(id, status, at);
    }
  }

  #show(id: string, status: JobStatus, at: number): void {
    if (!isFinal(status)) this.open.add(id);
    else {
      this.open.delete(id);
      if (!this.endShownAt.has(id)) this.endShownAt.set(id, at);
    }
  }

  /** A job whose end it was not shown, neither by itself nor by a snapshot without the job. */
  mistake(ended: Ended): string | null {
    if (this.socket.readyState !== WebSocket.OPEN) return "its socket has closed";
    if (this.gaps > 0) return `${this.gaps} gaps in seq`;
    const missed = [...ended].filter(([id, at]) => !this.endShownAt.has(id) && this.snapshotAt <= at);
    if (missed.length > 0)
      return `never shown the end of ${missed.length} of ${ended.size} jobs, as of ${missed[0]?.[0]}`;
    return this.open.size > 0 ? `takes ${this.open.size} ended jobs to be open` : null;
  }
}

const seen = async (viewers: readonly Viewer[], ended: Ended): Promise<Seen> => {
  const mistakeNow = () => viewers.map((viewer) => viewer.mistake(ended)).find((mistake) => mistake !== null) ?? null;
  const giveUpAt = sharedNow() + CATCH_UP_MS;
  let mistake = mistakeNow();
  while (mistake !== null && sharedNow() < giveUpAt) {
    await pause(POLL_MS);
    mistake = mistakeNow();
  }
  const delays = viewers.flatMap(({ endShownAt }) =>
    [...ended].flatMap(([id, at]) => {
      const shownAt = endShownAt.get(id);
      return shownAt === undefined ? [] : [shownAt - at];
    }),
  );
  return {
    fewestFrames: Math.min(...viewers.map(({ frames }) => frames)),
    mostFrames: Math.max(...viewers.map(({ frames }) => frames)),
    bytes: viewers.reduce((sum, { bytes }) => sum + bytes, 0),
    p50Ms: percentile(delays, 0.5),
    p99Ms: percentile(delays, 0.99),
    laterSnapshots: viewers.reduce((sum, { snapshots }) => sum + snapshots - 1, 0),
    mistake,
  };
};

const watching = workerData as Watching;
const viewers = Array.from({ length: watching.viewers }, () => new Viewer(watching));
await Promise.all(viewers.map(({ socket }) => once(socket, "message")));
parentPort?.on("message", async (ended: Ended) => parentPort?.postMessage(await seen(viewers, ended)));
parentPort?.postMessage("ready");
