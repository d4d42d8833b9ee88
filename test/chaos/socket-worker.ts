// A worker on a WebSocket: it takes pushed jobs; an acknowledgement is its answer.

import { setTimeout as pause } from "node:timers/promises";
import { WebSocket } from "ws";
import type { CoordinatorMessage } from "../../contract/socket.ts";
import type { Verb } from "./history.ts";
import { isNotNow, type Stage } from "./stage.ts";
import { Hands } from "./work.ts";

const CONCURRENCY = 6;
const RECONNECT_AFTER_MS = 60;
const PRESENCE_EVERY_MS = 900;
const ACK_WITHIN_MS = 5_000;

const TYPES: Record<Verb, string> = {
  start: "job.started",
  heartbeat: "job.heartbeat",
  complete: "job.completed",
  fail: "job.failed",
  release: "job.released",
};

class Line {
  readonly hands: Hands;
  #socket: WebSocket | null = null;
  #lastId = 0;
  readonly #waiting = new Map<string, (outcome: string | null) => void>();
  readonly #stage: Stage;
  readonly #offer: { readonly instance: string; readonly [field: string]: unknown };

  constructor(stage: Stage, instance: string, tags: string) {
    this.#stage = stage;
    this.#offer = { instance, provider: "chaos", status: "online", tags, concurrency: CONCURRENCY };
    this.hands = new Hands(stage, instance, (verb, job_id, fields) => this.#say(TYPES[verb], { job_id, ...fields }));
  }

  /** One connection, from its opening to its end. */
  async connect(): Promise<void> {
    const url = `${this.#stage.rough.replace("http", "ws")}/api/workers/${this.#offer.instance}/connect`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${this.#stage.adminKey}` } });
    const beat = setInterval(() => {
      if (this.#stage.isOver) socket.terminate();
      else if (this.#stage.random.next() < 0.5) void this.#present();
      else if (socket.readyState === WebSocket.OPEN) socket.send("ping");
    }, PRESENCE_EVERY_MS);
    socket.on("open", () => {
      this.#socket = socket;
      void this.#present();
    });
    socket.on("message", (data) => this.#hear(String(data)));
    socket.on("error", () => {});
    await new Promise<void>((resolve) => socket.on("close", () => resolve()));
    clearInterval(beat);
    this.#socket = null;
    for (const answer of this.#waiting.values()) answer(null);
    this.#waiting.clear();
  }

  #present(): Promise<string | null> {
    return this.#say("presence", { ...this.#offer, jobs: [...this.hands.jobIds] });
  }

  #say(type: string, fields: Record<string, unknown>): Promise<string | null> {
    const socket = this.#socket;
    this.#stage.history.callCount += 1;
    const unanswered = (): null => {
      this.#stage.history.unansweredCount += 1;
      return null;
    };
    if (socket?.readyState !== WebSocket.OPEN) return Promise.resolve(unanswered());
    this.#lastId += 1;
    const id = String(this.#lastId);
    return new Promise((resolve) => {
      const timer = setTimeout(() => socket.terminate(), ACK_WITHIN_MS);
      this.#waiting.set(id, (outcome) => {
        clearTimeout(timer);
        resolve(outcome ?? unanswered());
      });
      socket.send(JSON.stringify({ type, id, ...fields }));
    });
  }

  #hear(text: string): void {
    if (text === "pong") return;
    const frame = JSON.parse(text) as CoordinatorMessage | CoordinatorMessage[];
    for (const message of Array.isArray(frame) ? frame : [frame]) {
      if (message.type === "job.assigned") this.hands.take(message.job);
      if (message.type === "welcome" || message.type === "ack") {
        for (const job of message.jobs ?? []) this.hands.take(job);
      }
      if (message.type !== "ack") continue;
      const outcome = message.ok ? "ok" : (message.problem?.code ?? "unexplained");
      this.#waiting.get(message.id)?.(isNotNow(outcome) ? null : outcome);
      this.#waiting.delete(message.id);
    }
  }
}

export const runSocketWorker = async (stage: Stage, instance: string, tags: string): Promise<void> => {
  const line = new Line(stage, instance, tags);
  while (!stage.isOver) {
    await line.connect();
    await pause(RECONNECT_AFTER_MS * stage.random.next());
  }
};
