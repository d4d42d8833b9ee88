// A coordinator in memory, as far as a worker sees one: the socket, the HTTP protocol, the config. It decides nothing:
// it acknowledges what it receives, unless a test says otherwise, and records everything.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import type { LeasedJob, PresenceAnswer } from "../../contract/fleet/worker.ts";
import { type CoordinatorMessage, type WorkerMessage, workerMessage } from "../../contract/socket.ts";
import type { ProblemResource } from "../../contract/words/problem.ts";
import { VERSION } from "../../contract/words/version.ts";
import { Watched } from "./watched.ts";

const AT = "2026-01-01T00:00:00.000Z";
export const KEY = "test-worker-key";

export type Verdict = "ack" | "silence" | ProblemResource;

export function problem(status: number, code: string, detail = code): ProblemResource {
  return { type: "about:blank", title: code, status, detail, instance: "req-1", code };
}

const TYPE_OF_PATH: Record<string, string> = {
  start: "job.started",
  heartbeat: "job.heartbeat",
  complete: "job.completed",
  fail: "job.failed",
  release: "job.released",
};

export class FakeCoordinator extends Watched {
  readonly received: WorkerMessage[] = [];
  /** How many messages each socket frame had. */
  readonly frameSizes: number[] = [];
  /** The paths of all HTTP requests, `ping` for a socket's ping. */
  readonly requests: string[] = [];
  readonly configRequests: { ifNoneMatch: string | undefined; authorization: string | undefined }[] = [];
  allowsSocket = true;
  /**
   * What a firewall on the way does to a WebSocket: resets it; answers no handshake; opens it, lets nothing through and
   * closes it; or lets nothing of the worker's through.
   */
  firewall: "cuts" | "swallows" | "mutes" | "deafens" | null = null;
  answersPings = true;
  /** What happens to a finished HTTP answer: sent, cut off, or replaced by a gateway's with this status. */
  disturb: (path: string) => "cut" | number | null = () => null;
  health: { status: number; body: unknown } = { status: 200, body: { status: "ok", version: VERSION } };
  upgradeStatus = 426;
  validKey = KEY;
  heartbeatSeconds = 15;
  config: { text: string; etag: string } = { text: "{}", etag: '"1"' };
  judge: (message: WorkerMessage) => Verdict = () => "ack";
  facts: Partial<Pick<PresenceAnswer, "worker" | "jobs" | "halted" | "killswitch">> = {};
  #server: Server;
  #sockets = new Set<WebSocket>();
  #claimable: LeasedJob[] = [];
  /** Leases given and not reported on: a presence is answered with all of them, a claim with each once. */
  #unstarted = new Map<string, LeasedJob>();
  #claims: ((jobs: LeasedJob[]) => void)[] = [];
  #port = 0;
  #held: { path: string; released: Promise<void> } | null = null;

  constructor() {
    super();
    this.#server = this.#create();
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get socketCount(): number {
    return this.#sockets.size;
  }

  /** Listens; after a `stop` on the same port, like a restarted coordinator. */
  async start(): Promise<void> {
    this.#server = this.#create();
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.terminate();
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  say(...messages: CoordinatorMessage[]): void {
    const frame = JSON.stringify(messages.length === 1 ? messages[0] : messages);
    for (const socket of this.#sockets) socket.send(frame);
  }

  assign(job: LeasedJob): void {
    this.#unstarted.set(job.id, job);
    this.handOut(job);
  }

  /** Sends a worker a lease, perhaps not for the first time. */
  handOut(job: LeasedJob): void {
    const claim = this.#claims.shift();
    if (this.#sockets.size > 0) this.say({ type: "job.assigned", job });
    else if (claim) claim([job]);
    else this.#claimable.push(job);
  }

  /** Leaves HTTP requests for `path` unanswered until the returned function is called. */
  holdBack(path: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = { path, released: promise };
    return resolve;
  }

  closeSockets(code: number, reason: string): void {
    for (const socket of this.#sockets) socket.close(code, reason);
  }

  /** Resolves with the first message that matches, past or future. */
  async waitFor<T extends WorkerMessage["type"]>(
    type: T,
    fits: (message: Extract<WorkerMessage, { type: T }>) => boolean = () => true,
  ): Promise<Extract<WorkerMessage, { type: T }>> {
    const find = () =>
      this.received.find((one): one is Extract<WorkerMessage, { type: T }> => one.type === type && fits(one as never));
    await this.until(() => find() !== undefined);
    return find() as Extract<WorkerMessage, { type: T }>;
  }

  #create(): Server {
    const server = createServer((request, response) => void this.#answer(request, response));
    const sockets = new WebSocketServer({ noServer: true });
    server.on("upgrade", (request, stream, head) => {
      const refusal = this.#isKeyValid(request) ? (this.allowsSocket ? null : this.upgradeStatus) : 401;
      if (refusal !== null) {
        const body = JSON.stringify(problem(refusal, "refused", "no socket here"));
        stream.end(
          `HTTP/1.1 ${refusal} No\r\ncontent-type: application/problem+json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
        return;
      }
      if (this.firewall === "cuts") return void stream.destroy();
      if (this.firewall === "swallows") return void stream.resume().on("end", () => stream.destroy());
      if (this.firewall === "mutes")
        return sockets.handleUpgrade(request, stream, head, (socket) => socket.terminate());
      sockets.handleUpgrade(request, stream, head, (socket) => this.#connected(socket));
    });
    return server;
  }

  #connected(socket: WebSocket): void {
    this.#sockets.add(socket);
    socket.on("close", () => {
      this.#sockets.delete(socket);
      this.changed();
    });
    socket.on("message", (data) => {
      if (this.firewall === "deafens") return;
      const text = String(data);
      if (text === "ping") {
        this.requests.push("ping");
        if (this.answersPings) socket.send("pong");
        this.changed();
        return;
      }
      const frame: unknown = JSON.parse(text);
      const messages = Array.isArray(frame) ? frame : [frame];
      this.frameSizes.push(messages.length);
      const answers = messages.flatMap((message) => this.#take(workerMessage.parse(message)));
      if (answers.length > 0) socket.send(JSON.stringify(answers));
      this.changed();
    });
    socket.send(JSON.stringify({ type: "welcome", ...this.#presenceAnswer(), worker: undefined }));
    this.changed();
  }

  #take(message: WorkerMessage): CoordinatorMessage[] {
    this.received.push(message);
    const verdict = this.judge(message);
    if (verdict === "silence") return [];
    if (verdict !== "ack") return [{ type: "ack", id: message.id, ok: false, problem: verdict }];
    if ("job_id" in message) this.#unstarted.delete(message.job_id);
    const facts = message.type === "presence" ? this.#presenceAnswer() : {};
    return [{ type: "ack", id: message.id, ok: true, ...facts }];
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    this.requests.push(pathname);
    this.changed();
    if (this.#held?.path === pathname) await this.#held.released;
    const send = (status: number, body: unknown, headers: Record<string, string> = {}) => {
      const disturbed = this.disturb(pathname);
      if (disturbed === "cut") return void response.destroy();
      if (disturbed !== null) return void response.writeHead(disturbed).end();
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(typeof body === "string" ? body : JSON.stringify(body));
      this.changed();
    };
    if (pathname === "/health") return send(this.health.status, this.health.body);
    if (pathname === "/config") return this.#answerConfig(request, send);
    if (!this.#isKeyValid(request)) return send(401, problem(401, "authentication_failed", "the key was revoked"));
    const text = await readAll(request);
    const body = text === "" ? {} : JSON.parse(text);
    if (pathname.endsWith("/claim")) return send(200, { jobs: await this.#claim(response), skipped: {} });
    const [, jobId, verb = ""] = /^\/api\/jobs\/([^/]+)\/(\w+)$/.exec(pathname) ?? [];
    const type = pathname === "/presence" ? "presence" : TYPE_OF_PATH[verb];
    if (type === undefined) return send(404, problem(404, "not_found"));
    const id = `http-${this.received.length}`;
    const message = workerMessage.parse({ ...body, type, id, ...(jobId === undefined ? {} : { job_id: jobId }) });
    const [answer] = this.#take(message);
    if (answer?.type !== "ack") return void response.destroy();
    if (!answer.ok) return send(answer.problem?.status ?? 500, answer.problem);
    const max = Number(searchParams.get("claim") ?? 0);
    const claimed = max > 0 ? { jobs: this.#claimable.splice(0, max), skipped: {} } : {};
    return send(200, type === "presence" ? this.#presenceAnswer() : claimed);
  }

  #answerConfig(
    request: IncomingMessage,
    send: (status: number, body: unknown, headers?: Record<string, string>) => void,
  ) {
    const { "if-none-match": ifNoneMatch, authorization } = request.headers;
    this.configRequests.push({ ifNoneMatch, authorization });
    const { text, etag } = this.config;
    send(ifNoneMatch === etag ? 304 : 200, ifNoneMatch === etag ? "" : text, { etag });
  }

  #claim(response: ServerResponse): Promise<LeasedJob[]> {
    const jobs = this.#claimable.splice(0);
    if (jobs.length > 0) return Promise.resolve(jobs);
    return new Promise((resolve) => {
      this.#claims.push(resolve);
      response.on("close", () => {
        this.#claims = this.#claims.filter((one) => one !== resolve);
      });
    });
  }

  #isKeyValid(request: IncomingMessage): boolean {
    return request.headers.authorization === `Bearer ${this.validKey}`;
  }

  #presenceAnswer(): PresenceAnswer {
    return {
      worker: {
        instance: "w1",
        provider: "echo",
        status: "idle",
        tags: "",
        models: null,
        tier: null,
        concurrency: 1,
        current_load: 0,
        paused: false,
        pause_reason: null,
        paused_until: null,
        hardware: null,
        loaded: null,
        on_disk: null,
        max_loaded: null,
        can: null,
        halt_confirmed: null,
        unavailable: null,
        hours: null,
        failure_rate: null,
        last_heartbeat: AT,
        connected: true,
        edge: false,
        version: null,
        registered_at: AT,
      },
      jobs: [...this.#unstarted.values()],
      halted: [],
      killswitch: killswitch(0),
      heartbeat_interval_seconds: this.heartbeatSeconds,
      model_tasks: [],
      server_time: AT,
      ...this.facts,
    };
  }
}

export function killswitch(level: number): PresenceAnswer["killswitch"] {
  const isActive = level > 0;
  return {
    level,
    reason: isActive ? "stop" : null,
    active: isActive,
    activated_at: isActive ? AT : null,
    activated_by: isActive ? "admin" : null,
    halted_jobs: 0,
    paused_workers: 0,
    confirmed_workers: 0,
  };
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}
